package lease

import (
	"github.com/rueidisson/rueidisson/internal/send"
	"github.com/rueidisson/rueidisson/internal/watchdog"
)

// Keeper is the floor of a client that keeps leases.
type Keeper struct {
	*send.Sender
	dog *watchdog.Watchdog

	freed chan struct{} // poked when a hold leaves the watchdog's care
}

// EachLease calls f for every lease in the watchdog's care.
func (k *Keeper) EachLease(f func(*watchdog.Lease)) { k.dog.Each(f) }

// New returns a keeper whose watchdog renews by another renewer, or with the scripts if that is nil.
func New(s *send.Sender, by watchdog.Renewer) *Keeper {
	k := &Keeper{Sender: s, freed: make(chan struct{}, 1)}
	if by == nil {
		by = renewer{k}
	}
	k.dog = watchdog.Start(s.Now, by)
	return k
}

// Renewed has the watchdog know what another renewer than the scripts has renewed; see New.
func Renewed(k *Keeper, a watchdog.Attempt, started watchdog.Instant) { k.dog.Renewed(a, started) }
