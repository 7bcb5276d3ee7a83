package bench

import (
	"testing"

	"github.com/rueidisson/rueidisson/internal/redistest"
)

// clusterRows compare with Do of rueidis' cluster client.
var clusterRows = []row{
	{"cluster of three masters, own keys, 16 goroutines", "pairs/s", goal{atLeast: 1.25}, clusterKeys(16, rateOf)},
	{"cluster of three masters, own keys, 64 goroutines", "pairs/s", goal{atLeast: 1.25}, clusterKeys(64, rateOf)},
	{"cluster of three masters, own keys, 256 goroutines", "pairs/s", goal{atLeast: 1.25}, clusterKeys(256, rateOf)},
	{"cluster of three masters, own keys, 256 goroutines, CPU of the client", "us/pair", goal{atMost: 0.65}, clusterKeys(256, clientCPU)},
}

func rateOf(_ *testing.T, _ *redistest.Server, w *workers) measure { return w.rate }

func clusterKeys(goroutines int, as func(*testing.T, *redistest.Server, *workers) measure) func(*testing.T, *redistest.Server) sides {
	return func(t *testing.T, s *redistest.Server) sides {
		addr := redistest.StartCluster(t).Addrs()[0]
		side := func(name string) measure {
			return as(t, s, onOwnKeys(connect(t, name, addr), name, goroutines))
		}
		return sides{ours: side("rueidisson"), base: side("floor")}
	}
}
