package fencehttp

import (
	"net/http"

	"github.com/rueidisson/rueidisson/fence"
)

// Header is the header that a token travels in, as fence.Token.String writes it.
const Header = "Fencing-Token"

// Transport sends the token that a request's context carries, see
// fence.FromContext, and nothing where it carries none. It replaces what the
// header says already. To another host that a redirect leads to it sends none:
// the name of a lock may be nobody's business there.
type Transport struct {
	Base http.RoundTripper // nil: http.DefaultTransport
}

// RoundTrip implements http.RoundTripper.
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
