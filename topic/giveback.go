package topic

import (
	"cmp"
	"context"
	"errors"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/rueidisson/rueidisson/internal/send"
)

// orphans returns what nobody here has, in the order of the topic.
func (f *feed) orphans() (all []*entry) {
	for _, it := range f.flight {
		if it.left == 0 && !it.handled && it.failed == nil {
			all = append(all, it)
		}
	}
	slices.SortFunc(all, func(a, b *entry) int { // ids of entries are two decimal numbers
		aMs, aSeq, _ := strings.Cut(a.id, "-")
		bMs, bSeq, _ := strings.Cut(b.id, "-")
		return cmp.Or(cmp.Compare(len(aMs), len(bMs)), cmp.Compare(aMs, bMs), cmp.Compare(len(aSeq), len(bSeq)), cmp.Compare(aSeq, bSeq))
	})
	return all
}

// release gives messages back, as if nobody had been at work on them for a day. Those that
// no loop was given count as not delivered, and those that were dropped as missed.
func (f *feed) release(all []*entry) (err error) {
	own, again := f.parted(all)
	for i, some := range [][]*entry{own, again} {
		for some := range slices.Chunk(some, 1000) {
			args := []string{f.group, consumer}
			for _, it := range some {
				left := it.attempt
				if !it.tried {
					left--
				}
				args = append(args, f.at(it.id), strconv.FormatInt(it.attempt, 10), strconv.FormatInt(left, 10))
			}
			if _, err = f.h.e.Run(context.Background(), releaseScript, []string{f.streams()[i], f.of.missed}, args); err != nil {
				return err
			}
		}
	}
	return nil
}

// unsettled returns what is in flight, and neither handled nor in the hands of a loop.
func (f *feed) unsettled() []*entry {
	f.mu.Lock()
	defer f.mu.Unlock()
	all := f.orphans()
	for _, it := range all {
		delete(f.flight, it.id)
	}
	return all
}

// giveBack gives back what is in flight no more. No other process can get messages that the
// topic has dropped: they are missed, in addition to what is owed.
func (f *feed) giveBack(all []*entry, owed int64) error {
	there, dropped := f.split(all, func(it *entry) bool { return it.dropped })
	err := f.release(there) // at first, since others wait for it
	if !send.Transient(err) {
		f.forget(dropped)
	}
	owed += f.forgotten(dropped)
	if send.Transient(err) && f.h.e.Open() != nil {
		f.undone(owed, err)
		return err
	}
	return errors.Join(err, f.forgo(owed))
}

// forget has the server forget messages that were dropped, as far as it knows of them.
func (f *feed) forget(dropped []*entry) {
	_, pending := f.split(dropped, func(it *entry) bool { return it.dropped && !it.forgotten })
	f.holdAll(pending)
}

// forgotten returns how many messages of those that were dropped are perhaps pending no more. What is pending is counted by
// who claims it.
func (f *feed) forgotten(dropped []*entry) int64 {
	_, gone := f.split(dropped, func(it *entry) bool { return it.dropped && (it.forgotten || it.unsure) })
	return int64(len(gone))
}

// split returns the entries for which is reports false, and those for which it reports true; it is called under f.mu.
func (f *feed) split(all []*entry, is func(*entry) bool) (no, yes []*entry) {
	f.mu.Lock()
	defer f.mu.Unlock()
	for _, it := range all {
		if is(it) {
			yes = append(yes, it)
		} else {
			no = append(no, it)
		}
	}
	return no, yes
}

// overdue takes messages of a durable group out that have waited for a loop for a
// lease. Others are to have them: the loops here may hang. None is read until one of
// them moves. What the topic has dropped stays: others could not get it. What another loop has failed at
// becomes what that said.
func (f *feed) overdue(now time.Time) (all []*entry) {
	f.mu.Lock()
	defer f.mu.Unlock()
	for id, it := range f.flight {
		if it.begun > 0 || it.handled || it.dropped || it.left == 0 || now.Sub(it.came) < f.lease() {
			continue
		}
		it.gone, f.hung = true, true
		delete(f.flight, id)
		if it.failed == nil || !f.h.e.Spawn(func() { _ = f.nack(context.Background(), it) }) {
			all = append(all, it)
		}
	}
	return all
}
