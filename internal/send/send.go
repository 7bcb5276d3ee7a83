package send

import (
	"cmp"
	"context"
	"embed"
	"sync"
	"sync/atomic"
	"time"

	"github.com/rueidisson/rueidisson/internal/core"
	"github.com/rueidisson/rueidisson/internal/due"
	"github.com/rueidisson/rueidisson/internal/places"
)

//go:embed lua
var lua embed.FS

// Sender is the floor of a client that asks the server.
type Sender struct {
	*core.Core
	Topo *Topology

	cleanups cleanupQueue
	undone   undone
	silence  silence
	lanes    lanes
	acks     chan struct{} // bounds WAIT, which costs a connection each
	soon     atomic.Pointer[deadline]
	long     *places.Places[string, *longLane] // by the node
	directly int64                             // see Config.Directly
	batches  batches

	longestHeld time.Duration // for which a gathering holds a call while functions of it run
	evictions   evictions
	life        context.Context // of all exchanges; ended when Close stops waiting for them
	abort       context.CancelFunc
	due         due.Loop[core.Key]
	dueOnce     sync.Once
	dueWork     *due.Workers[func()]
}

// New returns a sender that has not asked the server for anything.
func New(c *core.Core) *Sender {
	s := &Sender{Core: c, acks: make(chan struct{}, maxAckWaits), directly: max(0, int64(cmp.Or(c.Directly, directly))), longestHeld: longestHeld}
	s.long = &places.Places[string, *longLane]{Make: func(string) *longLane { return &longLane{free: make(chan struct{}, mostLong)} }}
	s.life, s.abort = context.WithCancel(context.Background())
	s.lanes.last.Store(time.Now().UnixMicro()) // above those of an earlier process with this client id
	s.Topo = &Topology{client: c.Redis, cluster: c.Cluster(), spawn: s.Spawn, base: s.Base, stale: true}
	if c.Cluster() {
		s.Topo.learned = func(slots []slotRange) bool { return s.batches.learn(s, slots) }
	} else {
		s.batches.only = newBatcher(s, "")
	}
	return s
}

// Start asks the server whether it can serve a client, and what has to be known of it.
func Start(ctx context.Context, s *Sender) error {
	info, err := s.probe(ctx)
	if err != nil {
		return err
	}
	s.Topo.ask(ctx)
	sharded, err := s.sharded(ctx)
	if err != nil {
		return err
	}
	if sharded {
		core.PublishSharded(s.Core)
	}
	s.learnEvictions(ctx, info)
	s.learnReplication(ctx, info)
	return nil
}
