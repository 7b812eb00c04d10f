# SPDX-License-Identifier: BSD-3-Clause
from kamuee.errors import KamueeError


class LabError(KamueeError):
    """Something that the person at the keyboard can mend; the text says where and how."""
