package topic

import (
	"context"
	"strings"
	"time"

	"github.com/redis/rueidis"

	"github.com/rueidisson/rueidisson/internal/attempts"
)

// redrivenMark begins the ids, in flight, of messages that were redriven: they are in a
// stream of their own.
const redrivenMark = "again "

// newEntry returns a message for the first time.
func newEntry(got rueidis.XRangeEntry, redriven bool) *entry {
	it := &entry{id: got.ID, attempt: 1}
	field := "m"
	if redriven {
		it.id, it.before, field = redrivenMark+got.ID, got.FieldValues["g"], "=m"
	}
	it.payload, it.whole = got.FieldValues[field]
	return it
}

// shown returns the id that a message has for its loop, whether it was redriven or not.
func (it *entry) shown() string {
	if it.before != "" {
		return it.before
	}
	return strings.TrimPrefix(it.id, redrivenMark)
}

// again returns the id that a message had before it was redriven, or "".
func (it *entry) again() string {
	if strings.HasPrefix(it.id, redrivenMark) {
		return it.shown()
	}
	return ""
}

// streams returns the topic, and what the group has redriven.
func (f *feed) streams() [2]string { return [2]string{f.of.key, f.of.again(f.group)} }

// at returns the id of a message in its stream.
func (f *feed) at(id string) string { return strings.TrimPrefix(id, redrivenMark) }

// parted returns messages of the topic, and of what was redriven.
func (f *feed) parted(all []*entry) (own, again []*entry) {
	for _, it := range all {
		if strings.HasPrefix(it.id, redrivenMark) {
			again = append(again, it)
		} else {
			own = append(own, it)
		}
	}
	return own, again
}

// partedIDs returns the same of their ids, as their streams have them.
func (f *feed) partedIDs(ids []string) (own, again []string) {
	for _, id := range ids {
		if at, is := strings.CutPrefix(id, redrivenMark); is {
			again = append(again, at)
		} else {
			own = append(own, id)
		}
	}
	return own, again
}

// verdict is what a loop has made of a message that it has not handled.
type verdict struct {
	bury  bool
	wait  time.Duration // until it comes again
	cause error
}

// ack says that an ear has handled a message. Of the last one it returns what is told when
// the server knows.
func (f *feed) ack(it *entry) <-chan error {
	f.mu.Lock()
	defer f.mu.Unlock()
	if it.left == 1 && it.failed == nil && f.flight[it.id] == it {
		it.told = make(chan error, 1)
	}
	told := it.told
	it.begun--
	f.finish(it, true)
	return told
}

// reject says that an ear has failed at a message. It reports whether it was the last: then
// its caller tells the server, by nack.
func (f *feed) reject(it *entry, v verdict) (last bool) {
	f.mu.Lock()
	defer f.mu.Unlock()
	// What is put aside by one loop does not come again. What comes again does so when the last of the loops wants it.
	if was := it.failed; was == nil || v.bury && !was.bury || v.bury == was.bury && v.wait > was.wait {
		it.failed = &v
	}
	it.left--
	it.begun--
	f.departs()
	return it.left == 0
}

// nack has a message come again later, or puts it aside. If that fails it comes again a
// lease later: this process is at work on it no more.
func (f *feed) nack(ctx context.Context, it *entry) error {
	f.mu.Lock()
	v, attempt, stream, before := *it.failed, it.attempt, f.streams()[0], it.again()
	f.mu.Unlock()
	if before != "" {
		stream = f.streams()[1]
	}
	idle := attempts.PutAside
	if !v.bury {
		idle = f.lease() - v.wait
	}
	said, err := attempts.Say(ctx, f.h.e, f.h.requests, attempts.Failure{
		Name: f.of.key, Stream: stream, Missed: f.of.missed, Group: f.group, Consumer: consumer, ID: f.at(it.id), Before: before,
		Attempt: attempt, Idle: idle, Cause: v.cause,
	})
	f.mu.Lock()
	full := !f.takes()
	if f.flight[it.id] == it {
		delete(f.flight, it.id)
	}
	again := full && f.takes()
	f.mu.Unlock()
	if err == nil {
		var soon bool
		soon, err = f.said(it, said, v)
		again = again || soon
	}
	if again {
		f.h.wake(f)
	}
	return err
}

// said handles what the server has made of a message that failed. It reports whether what is
// pending has to be asked for earlier than it would be.
func (f *feed) said(it *entry, said attempts.Outcome, v verdict) (soon bool, err error) {
	switch said {
	case attempts.Again:
		f.dues.Add(v.wait)
		return v.wait < claimEvery, nil
	case attempts.Buried:
		if it.again() == "" { // the topic drops it, now or with what is acknowledged next
			_, _ = f.acknowledge([]string{"!" + it.id})
		}
		return false, nil
	case attempts.Dropped: // it is counted, and told with the next answer
		f.mu.Lock()
		f.claim = true
		f.mu.Unlock()
		return true, ErrLost
	}
	f.forget([]*entry{it})
	f.lag(f.forgotten([]*entry{it})) // hold has found out that it was dropped, and nobody else counts it
	return false, ErrLost
}
