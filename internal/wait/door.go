package wait

import (
	"github.com/rueidisson/rueidisson/internal/places"
	"github.com/rueidisson/rueidisson/internal/send"
)

// Door is where the callers of a process wait for one thing on the server. One of them is the first, and looks whether it
// is there. The others queue after it, in order.
type Door struct {
	places.Entry
	// First takes one value while there is a first caller. A caller that sends one is the first, and receives one when it
	// leaves. It is no semaphore.Weighted, because a wait for it ends with the client, too.
	First  chan struct{}
	Outage send.Outage // what the server has answered of late, to all of them
}

// NewDoor returns a door at which no caller waits.
func NewDoor() *Door { return &Door{First: make(chan struct{}, 1)} }
