package nearcache

import (
	"reflect"
	"sync"
)

// reads are the reads of entries that are under way. Of two that overlap it is not known which the server answered first. If
// they return different values, a copy of either may be older than what a reader has got: neither is kept.
type reads[K comparable, V any] struct {
	mu  sync.Mutex
	all map[K]*reading[V]
}

// reading is the reads of one key.
type reading[V any] struct {
	underWay int
	last     *copied[V] // what the last to return has read; nil: none has
	at       int64      // when it returned, in the time of the origin
}

// begin counts a read of k before it is sent.
func (r *reads[K, V]) begin(k K) {
	if r == nil {
		return
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	at := r.all[k]
	if at == nil {
		at = new(reading[V])
		r.all[k] = at
	}
	at.underWay++
}

// agrees reports whether it, which was read by a read that began then, is what the last read that overlaps has returned.
// If it is not, what reads of k have kept counts no more, nor does what those under way will return. It is under the mutex.
func (r *reads[K, V]) agrees(k K, it *copied[V], began int64) bool {
	of := r.all[k]
	before, overlaps := of.last, of.at >= began
	of.last, of.at = it, it.from.now()
	if before == nil || !overlaps || before.none == it.none && reflect.DeepEqual(before.v, it.v) {
		return true
	}
	it.lane.Add(1)
	return false
}

// end forgets a read of k that is over, whatever became of it.
func (r *reads[K, V]) end(k K) {
	if r == nil {
		return
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	of := r.all[k]
	if of.underWay--; of.underWay == 0 {
		delete(r.all, k)
	}
}
