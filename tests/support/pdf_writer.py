"""Writes small PDF files, page by page."""

import zlib
from collections.abc import Sequence

__all__ = ["page_of", "pdf"]


def page_of(*lines: str) -> bytes:
    """What draws a page of lines of text."""
    shown = " T* ".join(f"({line}) Tj" for line in lines)
    return f"BT /F1 12 Tf 14 TL 72 720 Td {shown} ET".encode("latin-1")


def pdf(pages: Sequence[bytes], title: str | None = None) -> bytes:
    """A PDF file with these pages, each compressed.

    Args:
        pages: What draws each page.
        title: The title in the file's description of itself.
    """
    kids = " ".join(f"{4 + 2 * n} 0 R" for n in range(len(pages)))
    objects = [
        b"<< /Type /Catalog /Pages 2 0 R >>",
        f"<< /Type /Pages /Count {len(pages)} /Kids [{kids}] >>".encode(),
        b"<< /Type /Font /Subtype /Type1 /BaseFont /Helvetica /Encoding /WinAnsiEncoding >>",
    ]
    for n, drawing in enumerate(pages):
        objects.append(
            f"<< /Type /Page /Parent 2 0 R /MediaBox [0 0 612 792] /Contents {5 + 2 * n} 0 R "
            "/Resources << /Font << /F1 3 0 R >> >> >>".encode()
        )
        packed = zlib.compress(drawing, 9)
        head = f"<< /Length {len(packed)} /Filter /FlateDecode >>\nstream\n".encode()
        objects.append(head + packed + b"\nendstream")
    objects.append(f"<< /Title ({title}) >>".encode("latin-1") if title else b"<< >>")
    file, starts = b"%PDF-1.7\n", []
    for number, content in enumerate(objects, 1):
        starts.append(len(file))
        file += f"{number} 0 obj\n".encode() + content + b"\nendobj\n"
    table = f"xref\n0 {len(objects) + 1}\n0000000000 65535 f \n" + "".join(
        f"{start:010} 00000 n \n" for start in starts
    )
    trailer = (
        f"trailer << /Size {len(objects) + 1} /Root 1 0 R /Info {len(objects)} 0 R >>\nstartxref\n{len(file)}\n%%EOF\n"
    )
    return file + table.encode() + trailer.encode()
