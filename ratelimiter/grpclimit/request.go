package grpclimit

import (
	"context"
	"net/http"
	"net/url"

	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/peer"
)

// request makes a call as the HTTP request that it is, as far as a key can be
// found in it.
func request(ctx context.Context, method string) *http.Request {
	r := &http.Request{
		Method: http.MethodPost, URL: &url.URL{Path: method}, RequestURI: method, Header: http.Header{},
		Proto: "HTTP/2.0", ProtoMajor: 2,
	}
	if p, ok := peer.FromContext(ctx); ok && p.Addr != nil {
		r.RemoteAddr = p.Addr.String()
	}
	if md, ok := metadata.FromIncomingContext(ctx); ok {
		for name, values := range md {
			r.Header[http.CanonicalHeaderKey(name)] = values
		}
		if hosts := md.Get(":authority"); len(hosts) == 1 {
			r.Host = hosts[0]
		}
	}
	return r.WithContext(ctx)
}
