"""Which part of a text did we put there ourselves? Asked of `text`, which every room may ask."""

from festinger.text.blocks import CLOSE as CLOSE
from festinger.text.blocks import GAP as GAP
from festinger.text.blocks import NO_MARK as NO_MARK
from festinger.text.blocks import OPEN as OPEN
from festinger.text.blocks import IsOurs as IsOurs
from festinger.text.blocks import Mark as Mark
from festinger.text.blocks import blocks_in as blocks_in
from festinger.text.blocks import none_known as none_known
from festinger.text.blocks import without_blocks as without_blocks
