package topic

import (
	"context"
	"strconv"
	"time"

	"github.com/rueidisson/rueidisson/internal/send"
)

// mostSettled bounds how long one call keeps the server.
const mostSettled = 1000

// flush acknowledges until nothing is left, or the client closes.
func (f *feed) flush() {
	for {
		f.mu.Lock()
		n := min(len(f.acks), mostSettled)
		ids := f.acks[:n:n]
		f.flushing = n > 0
		f.mu.Unlock()
		if n == 0 {
			return
		}
		f.touches()
		known, err := f.acknowledge(ids)
		f.touches()
		if err != nil && !send.Permanent(err) {
			if !f.pause() {
				return
			}
			continue
		}
		f.settled(ids, err == nil && known < int64(n), err)
	}
}

// touches notes that this process is changing the stream.
func (f *feed) touches() {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.acked = time.Now()
}

// acknowledge tells the server what was handled. That comes before a group is taken
// away: without one the server would keep it for the next who comes.
func (f *feed) acknowledge(ids []string) (int64, error) {
	if len(ids) == 0 {
		return 0, nil
	}
	own, again := f.partedIDs(ids)
	n := int64(0)
	if len(again) > 0 {
		some, err := send.Number(f.h.e.Run(context.Background(), redrivenScript, []string{f.streams()[1]}, append([]string{f.group}, again...)))
		if n = some; err != nil || len(own) == 0 {
			return n, err
		}
	}
	args := append([]string{f.group, strconv.FormatInt(f.h.e.Wall(), 10)}, own...)
	some, err := send.Number(f.h.e.Run(context.Background(), settleScript, []string{f.of.key, f.of.timeout, f.of.holders}, args))
	return n + some, err
}

// pause waits before what failed is tried again. It returns false once the client closes.
func (f *feed) pause() bool {
	timer := time.NewTimer(200 * time.Millisecond)
	defer timer.Stop()
	select {
	case <-timer.C:
		return true
	case <-f.h.e.Closing():
	}
	f.mu.Lock()
	f.flushing = false
	f.tell(f.acks, ErrClosed)
	f.mu.Unlock()
	return false
}

// settled forgets what the server knows to be done. If it knew less, the group was
// perhaps made again meanwhile, and has given once more what was still in flight here.
func (f *feed) settled(ids []string, less bool, err error) {
	f.mu.Lock()
	full := !f.takes()
	f.tell(ids, err)
	f.late = append(f.late, ids...)
	if !f.claiming {
		f.land()
	}
	f.acks = append([]string(nil), f.acks[len(ids):]...)
	f.claim = f.claim || less
	again := less || full && f.takes()
	f.mu.Unlock()
	if again {
		f.h.wake(f)
	}
}

// tell has those know who wait until messages are acknowledged; under f.mu.
func (f *feed) tell(ids []string, err error) {
	for _, id := range ids {
		if it := f.flight[id]; it != nil && it.told != nil {
			it.told <- err
			it.told = nil
		}
	}
}

// land forgets what was settled.
func (f *feed) land() {
	for _, id := range f.late {
		delete(f.flight, id)
	}
	f.late = nil
}

// claimDone says that the answer about what is pending was read.
func (f *feed) claimDone() {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.claiming = false
	f.land()
}
