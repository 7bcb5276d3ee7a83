package latch

import (
	"time"

	"github.com/rueidisson/rueidisson/internal/combine"
	"github.com/rueidisson/rueidisson/internal/keys"
	"github.com/rueidisson/rueidisson/internal/locking"
	"github.com/rueidisson/rueidisson/internal/places"
)

// shared is shared by the latches of one client.
type shared struct {
	e      *locking.Engine
	table  *combine.Table[string, ask, answer]
	places places.Places[string, *waiters]
}

type sharedKey struct{}

// flights is how many exchanges about one latch may be under way.
const flights = 4

func newShared(e *locking.Engine) *shared {
	h := &shared{e: e}
	h.table = combine.New(combine.Config[string, ask, answer]{
		Send: h.send, Cut: cut, Sent: e.Sent("latch"), Spawn: e.Spawn, Closed: ErrClosed, Flights: flights,
	})
	makeWaiters(e, &h.places, func(name string) protocol { return &latchProtocol{h, newNames(e.ClientID, name)} })
	return h
}

// names is the keys of one latch on the server.
type names struct {
	key     string // the mapped name
	channel string
	lane    string // what its lanes begin with
	opened  string
	parties string
	armed   string
}

func newNames(client, mapped string) *names {
	return &names{
		mapped, keys.LatchChannel(mapped), keys.Lane(mapped, client), keys.LatchOpened(mapped), keys.LatchParties(mapped),
		keys.LatchArmed(mapped),
	}
}

// kind is the kind of a request. Count downs are sent together.
type kind uint8

const (
	down kind = iota
	trySet
	remove
)

// ask is one request.
type ask struct {
	of    *names
	kind  kind
	party string // that counts down once; "": a count down without a party
	n     int64  // of a trySet
	ttl   time.Duration
}

// answer is the outcome of a request.
type answer struct {
	n   int64 // the count after a count down, or the answer of the script
	err error

	at     int   // the run that it is in
	before int64 // how many of that run belong to other requests
}

type (
	call  = combine.Call[ask, answer]
	batch = []*call
)

// run is adjacent count downs without a party, or one with a party.
type run struct {
	party string
	count int64
}

// mostRuns bounds how long one script call occupies the server.
const mostRuns = 64

// cut returns how many of the waiting calls are sent as one.
func cut(waiting batch) int {
	runs := 0
	for i, c := range waiting {
		if c.Ask.kind != down {
			return max(i, 1)
		}
		if i == 0 || !alike(&waiting[i-1].Ask, &c.Ask) {
			runs++
		}
		if runs > mostRuns {
			return i
		}
	}
	return len(waiting)
}

// alike reports whether two count downs need not be told apart.
func alike(a, b *ask) bool { return a.party == "" && b.party == "" }
