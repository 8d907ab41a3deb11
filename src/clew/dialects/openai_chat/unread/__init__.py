"""What of a stream needs no reading: words that are cut out of their chunks and put into the client's frames.

Nine chunks of ten differ by one word. The bytes around it are a *mould* (`moulds`); which words may pass unread just now is
a *lane* (`lanes`); chunks of one mould in a row are a *run* (`runs`; `singles` for one that comes alone). Whatever does not
fit is read by the decoder, which then hears of all that went by.
"""
