package redistest

import (
	"testing"

	"github.com/redis/rueidis"
)

// Proxied returns a client of a cluster that has a proxy before each node, and which that is.
func (c *Cluster) Proxied(t testing.TB) (client rueidis.Client, before func(*Server) *Proxy) {
	t.Helper()
	of := map[*Server]*Proxy{}
	var all []*Proxy
	for _, node := range c.nodes {
		of[node] = NewProxy(t, node.Addr())
		all = append(all, of[node])
	}
	client = c.Client(t, func(o *rueidis.ClientOption) { o.DialCtxFn = Through(all...) })
	return client, func(node *Server) *Proxy { return of[node] }
}
