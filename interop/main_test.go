//go:build interop

package interop

import (
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/rueidisson/rueidisson/internal/redistest"
	"github.com/rueidisson/rueidisson/interop/peer"
)

func TestMain(m *testing.M) {
	redistest.Main(m, redistest.Children{"contender": contender, "holder": holder, "fair waiter": fairWaiter, "permit holder": permitHolder, "delaying": delaying, "numberer": numberer})
}

// proof is a test of one row and direction of the table in docs/interop.md: "lock/wake-up/go-java". It is run in
// several worlds, whose name is the variant.
type proof struct {
	row   string
	test  func(t *testing.T, w *world)
	alone bool // it contends for all it is worth, and nobody else should do anything meanwhile
}

// machine is had by each proof together with others, or alone.
var machine sync.RWMutex

func (p proof) run(t *testing.T, w *world) {
	if p.alone {
		machine.Lock()
		defer machine.Unlock()
	} else {
		machine.RLock()
		defer machine.RUnlock()
	}
	p.test(t, w)
}

// A new object adds its proofs here. Those of all and waits go with the current Redisson, on a server and on a
// cluster; of the others, the few that tell whether two sides understand each other at all.
//
// The two worlds run beside each other, but for the proofs that contend. Those of a world run one after the other;
// only the waits of an object run at the same time, those of all versions.
var (
	all            = slices.Concat(lockProofs, fencedProofs, fairLockProofs, rwLockProofs, multiLockProofs, rateLimiterProofs, semaphoreProofs, latchProofs, permitProofs, mapProofs, entryObjectProofs, copyProofs, nearProofs, loadingProofs, writingProofs, cacheProofs, cacheLookProofs, multimapProofs, bucketProofs, documentProofs, queueProofs, delayedProofs, kindProofs, topicProofs, counterProofs, bloomProofs, setProofs, sortedSetProofs, geoProofs, seriesProofs, keyspaceProofs, bitsetProofs, listProofs, codecProofs)
	waits          = map[string][]proof{"lock": lockWaits, "group_of_locks": groupWaits, "fair_lock": fairLockWaits, "read-write_lock": rwLockWaits, "rate_limiter": rateLimiterWaits, "permit_semaphore": permitWaits, "map_cache": cacheWaits, "bounded_queue": boundedWaits, "delayed_queue": delayedWaits, "set_cache": setWaits, "time_series": seriesWaits}
	essential      = slices.Concat(lockEssentials, rateLimiterEssentials, semaphoreEssentials, latchEssentials, permitEssentials, mapEssentials, cacheEssentials, bucketEssentials, queueEssentials, delayedEssentials, topicEssentials, counterEssentials, bloomEssentials, setEssentials, sortedSetEssentials)
	essentialWaits = map[string][]proof{"rate_limiter": rateLimiterEssentialWaits}
)

func TestInteropSingle(t *testing.T) {
	t.Parallel()
	proveAll(t, startSingle(t))
}

func TestInteropCluster(t *testing.T) {
	t.Parallel()
	w := startCluster(t)
	plain := w.withPlainChannels(t)
	prove(t, plain, slices.Concat(lockEssentials, semaphoreEssentials, permitEssentials, latchEssentials)) // limiters have no channels
	plain.java.Close()
	plain.second.Close()
	proveAll(t, w)
}

func proveAll(t *testing.T, w *world) {
	older := []*world{w.withVersion(t, peer.Last3), w.withVersion(t, peer.Oldest)}
	for _, old := range older {
		prove(t, old, essential)
	}
	prove(t, w, all)
	for object := range waits {
		t.Run(object, func(t *testing.T) {
			proveAtOnce(t, w, waits[object])
			for _, old := range older {
				proveAtOnce(t, old, essentialWaits[object])
			}
		})
	}
	if !t.Failed() { // a test that was cut short has left what it has left
		prove(t, w, []proof{{row: "lock/no_key_left/both", test: nothingIsLeft}})
	}
}

func prove(t *testing.T, w *world, proofs []proof) {
	for _, p := range proofs {
		t.Run(p.row+"/"+w.name, func(t *testing.T) { p.run(t, w) })
	}
}

// proveAtOnce is prove inside of the test of an object, and returns when the proofs have begun.
func proveAtOnce(t *testing.T, w *world, proofs []proof) {
	for _, p := range proofs {
		_, row, _ := strings.Cut(p.row, "/")
		t.Run(row+"/"+w.name, func(t *testing.T) {
			t.Parallel()
			p.run(t, w)
		})
	}
}
