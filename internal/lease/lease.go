package lease

import (
	"github.com/rueidisson/rueidisson/internal/send"
	"github.com/rueidisson/rueidisson/internal/watchdog"
)

// Keeper is the floor of a client that keeps leases.
type Keeper struct {
	*send.Sender
	Dog *watchdog.Watchdog

	freed chan struct{} // poked when a hold leaves the watchdog's care
}

// New returns a keeper whose watchdog renews by another renewer, or with the scripts if that is nil.
func New(s *send.Sender, by watchdog.Renewer) *Keeper {
	k := &Keeper{Sender: s, freed: make(chan struct{}, 1)}
	if by == nil {
		by = renewer{k}
	}
	k.Dog = watchdog.Start(s.Now, by)
	return k
}
