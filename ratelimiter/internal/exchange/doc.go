// Package exchange is what the limiters of one client say to their server: the
// rules that they follow, and requests of many callers that go out as one, are
// decided by a script there, and are dealt out again in their order. What decides
// without the server is in packages bucket and standby.
package exchange
