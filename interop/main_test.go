//go:build interop

package interop

import (
	"slices"
	"strings"
	"testing"

	"github.com/rueidisson/rueidisson/internal/redistest"
	"github.com/rueidisson/rueidisson/interop/peer"
)

func TestMain(m *testing.M) {
	redistest.Main(m, redistest.Children{"contender": contender, "holder": holder})
}

// proof is a test of one row and direction of the README's table: "lock/wake-up/go-java". It is run in
// several worlds, whose name is the variant.
type proof struct {
	row  string
	test func(t *testing.T, w *world)
}

// A new object adds its proofs here. Those of all and waits go with the current Redisson, on a server and on a
// cluster; of the others, the few that tell whether two sides understand each other at all.
//
// The tests run one after the other, since those that measure or contend would suffer from company. Only the
// waits of an object run at the same time.
var (
	all       = slices.Concat(lockProofs, rateLimiterProofs)
	waits     = [][]proof{lockWaits, rateLimiterWaits}
	essential = slices.Concat(lockEssentials, rateLimiterEssentials)
)

func TestInteropSingle(t *testing.T) {
	w := startSingle(t)
	for _, version := range []string{peer.Last3, peer.Oldest} {
		proveRelative(t, w.withVersion(version), essential)
	}
	proveAll(t, w)
}

func TestInteropCluster(t *testing.T) {
	w := startCluster(t)
	for _, version := range []string{peer.Last3, peer.Oldest} {
		proveRelative(t, w.withVersion(version), essential)
	}
	proveRelative(t, w.withPlainChannels(), lockEssentials) // limiters have no channels
	proveAll(t, w)
}

func proveAll(t *testing.T, w *world) {
	prove(t, w, all)
	for _, proofs := range waits {
		proveAtOnce(t, w, proofs)
	}
	if !t.Failed() { // a test that was cut short has left what it has left
		prove(t, w, []proof{{"lock/no_key_left_behind/both", nothingIsLeft}})
	}
}

func prove(t *testing.T, w *world, proofs []proof) {
	for _, p := range proofs {
		t.Run(p.row+"/"+w.name, func(t *testing.T) { p.test(t, w) })
	}
}

// proveAtOnce is prove for those of one object. It returns when the last one is done.
func proveAtOnce(t *testing.T, w *world, proofs []proof) {
	object, _, _ := strings.Cut(proofs[0].row, "/")
	t.Run(object, func(t *testing.T) {
		for _, p := range proofs {
			t.Run(strings.TrimPrefix(p.row, object+"/")+"/"+w.name, func(t *testing.T) {
				t.Parallel()
				p.test(t, w)
			})
		}
	})
}

// proveRelative is prove for a world that shares its servers with another one.
func proveRelative(t *testing.T, w *world, proofs []proof) {
	w.java = peer.Start(t, w.jvm)
	defer w.java.Close() // the JVMs of all worlds together would be too many
	prove(t, w, proofs)
}
