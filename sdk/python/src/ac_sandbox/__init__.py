# SPDX-License-Identifier: Apache-2.0
"""Client of ac: sandboxes for coding agents on your own machine."""
