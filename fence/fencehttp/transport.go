package fencehttp

import (
	"net/http"

	"github.com/rueidisson/rueidisson/fence"
)

// Header is the header that carries a token, as fence.Token.String writes it.
const Header = "Fencing-Token"

// Transport sends the token that a request's context carries, see fence.FromContext. If the context
// carries none, it sends none. It replaces the header of the request. To another host, after a
// redirect, it sends no token: that host need not know the name of a lock.
type Transport struct {
	Base http.RoundTripper // nil: http.DefaultTransport
}

// RoundTrip sends the request with the token of its context. The response and the errors are those
// of Base.
func (t *Transport) RoundTrip(req *http.Request) (*http.Response, error) {
	base := t.Base
	if base == nil {
		base = http.DefaultTransport
	}
	first := req // redirects may have led away from its host
	for first.Response != nil && first.Response.Request != nil {
		first = first.Response.Request
	}
	elsewhere := first.URL.Host != req.URL.Host || first.URL.Scheme == "https" && req.URL.Scheme != "https"
	token, ok := fence.FromContext(req.Context())
	switch {
	case elsewhere:
		req = req.Clone(req.Context())
		req.Header.Del(Header)
	case ok:
		req = req.Clone(req.Context()) // a RoundTripper leaves the request as it is
		req.Header.Set(Header, token.String())
	}
	return base.RoundTrip(req)
}
