//go:build interop

package interop

import (
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

// A new object adds its proofs here. Those of all go with the current Redisson, on a server and on a
// cluster; of the others, the few that tell whether two sides understand each other at all.
var (
	all       = lockProofs
	essential = lockEssentials
)

// The tests run one after the other: those that measure or contend would suffer from company.

func TestInteropSingle(t *testing.T) {
	w := startSingle(t)
	for _, version := range []string{peer.Last3, peer.Oldest} {
		proveRelative(t, w.withVersion(version), essential)
	}
	prove(t, w, all)
	prove(t, w, []proof{{"lock/no_key_left_behind/both", nothingIsLeft}})
}

func TestInteropCluster(t *testing.T) {
	w := startCluster(t)
	for _, version := range []string{peer.Last3, peer.Oldest} {
		proveRelative(t, w.withVersion(version), essential)
	}
	proveRelative(t, w.withPlainChannels(), essential)
	prove(t, w, all)
	prove(t, w, []proof{{"lock/no_key_left_behind/both", nothingIsLeft}})
}

func prove(t *testing.T, w *world, proofs []proof) {
	for _, p := range proofs {
		t.Run(p.row+"/"+w.name, func(t *testing.T) { p.test(t, w) })
	}
}

// proveRelative is prove for a world that shares its servers with another one.
func proveRelative(t *testing.T, w *world, proofs []proof) {
	w.java = peer.Start(t, w.jvm)
	defer w.java.Close() // the JVMs of all worlds together would be too many
	prove(t, w, proofs)
}
