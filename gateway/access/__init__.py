"""Authentication: API keys, tokens of the site's identity provider, client certificates; each gives a `Principal`.

principal     name, tenant and permissions
clients       the clients files: names, permissions, digests of keys, names in certificates
pins          digests of the clients files
keys          creates, rotates and revokes keys (`sovctl gateway keys`)
jwks, oidc    the identity provider's public keys, and its tokens
certificate   the client certificate of a TLS connection
assertion     the principal as a signed header for RAG and tools
failures      throttles failed authentication
authenticator combines them: from the credentials of a request to its principal
"""
