package wait

import (
	"github.com/rueidisson/rueidisson/internal/lease"
	"github.com/rueidisson/rueidisson/internal/pubsub"
)

// Waits is the floor of a client that hears what servers tell, and waits for it.
type Waits struct {
	*lease.Keeper
	hub *pubsub.Hub
}

// New returns the floor with a hub that hears the servers, or another source unless that is nil.
func New(k *lease.Keeper, from pubsub.Source) *Waits {
	if from == nil {
		from = doubting{pubsub.NewRedis(k.Redis, k.Topo.Where), k.Topo}
	}
	return &Waits{Keeper: k, hub: pubsub.New(from, pubsub.Options{
		Linger: k.Linger, Logger: k.Logger, Timeout: k.HubTimeout(),
	})}
}

// End ends subscriptions: no more messages are heard.
func End(w *Waits) { w.hub.Close() }
