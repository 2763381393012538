"""Who may call: API keys, tokens of the site's identity provider, client certificates; one `Principal` out of each.

principal     who it is and what he may do
clients       the clients files: names, rights, digests of keys, names in certificates
keys          making, replacing and revoking keys (`sovctl gateway keys`)
jwks, oidc    the identity provider's public keys, and its tokens
certificate   what a TLS connection says about its other end
assertion     the principal as a signed header for RAG and tools
callers       joins them: a request's credentials in, a principal out
"""
