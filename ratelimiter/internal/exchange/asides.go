package exchange

import "sync/atomic"

// mostAside is how many may be under way.
const mostAside = 4096

// asides counts the requests that nobody waits for.
type asides struct{ underWay atomic.Int64 }

func (a *asides) Enter() bool {
	if a.underWay.Add(1) > mostAside {
		a.Leave()
		return false
	}
	return true
}

func (a *asides) Leave() { a.underWay.Add(-1) }
