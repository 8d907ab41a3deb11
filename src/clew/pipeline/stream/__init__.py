"""An answer on its way from its maker to the client.

`AnswerStream` is a streamed one: `PassedAnswer` where the bytes pass, `TranslatedAnswer` where they are read and written
again. `ClientView` is what is put on for the client (the model's name, a seal, a safe tool id). `Answer` is what came
in all, as the blocks that the store keeps.
"""
