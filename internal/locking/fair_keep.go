package locking

import (
	"context"
	"time"

	"github.com/rueidisson/rueidisson/internal/send"
	"github.com/rueidisson/rueidisson/internal/watchdog"
)

const (
	// keepEvery is how often a process with waiters says that it is alive, and
	// looks whose turn it is.
	keepEvery = 500 * time.Millisecond
	// firstSlack is how far the clocks of another library's processes may be
	// ahead, at first; mostSlack is where it stops growing.
	firstSlack = 10 * time.Second
	mostSlack  = 320 * time.Second
)

// heartbeatState is what a line remembers of the places that it keeps. The line's
// mutex guards it.
type heartbeatState struct {
	due    time.Duration // when to say something next
	said   time.Duration // when something was said last that was answered
	walked time.Duration // when the deadlines were written last
	looked time.Duration // when a hold of this process was last looked at that is in the way
	slack  time.Duration // of deadlines
	doubts bool          // places may have been lost: they are to be listed
	early  bool          // though the process has said in time that it is alive
	server time.Duration // how far the server's clock is ahead of ours, and a way there
	latest time.Duration // that as the last answer has it
}

// doubt has the places looked after at once.
func (k *heartbeatState) doubt() { k.due, k.doubts = min(k.due, 1), true } // 0: nobody has a place

// walk returns what is to be done for the places at now.
func (k *heartbeatState) walk(now time.Duration) Walk {
	switch {
	case k.doubts || now-k.said >= Alive:
		k.doubts = false
		return WalkList
	case now-k.walked >= firstSlack/3: // also with more slack: it is how a loss is found
		return WalkCount
	}
	return WalkNot
}

// answered notes what was said at that time.
func (k *heartbeatState) answered(at time.Duration, walk Walk, kept HeartbeatReply) {
	pause := keepEvery
	if !kept.Free && kept.Left >= 0 {
		pause = min(pause, kept.Left+time.Millisecond)
	}
	if kept.Soon >= 0 {
		pause = min(pause, kept.Soon+time.Millisecond)
	}
	k.said, k.due = at, at+max(pause, 10*time.Millisecond)
	if walk != WalkNot {
		k.walked = at
	}
}

// clock notes what the server's clock said, a way there after that was asked. Of
// two answers the quicker one counts: what a server did that stood still says
// nothing of the way, and of a link that has become slower so do the next two.
func (k *heartbeatState) clock(said time.Duration, asked watchdog.Instant) {
	last := k.latest
	k.latest = said - asked.Mono
	k.server = k.latest
	if last != 0 {
		k.server = min(last, k.latest)
	}
}

// keeps reports how long w has to wait before it says something for the line:
// the front does, and else it is negative.
func (l *fairLine) keeps(w *queueEntry) time.Duration {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.front != w || l.keeping.due == 0 {
		return -1
	}
	return max(0, l.keeping.due-l.e.Now().Mono)
}

// keep says that the process is alive, and tells whose turn it is.
func (l *fairLine) keep(ctx context.Context) error {
	began := l.e.Now().Mono
	l.mu.Lock()
	k, expected := Heartbeat{Slack: l.keeping.slack, Walk: l.keeping.walk(began), Clock: began + l.keeping.server}, l.queued
	l.mu.Unlock()
	kept, err := l.say(ctx, k)
	switch {
	case err != nil:
		return err
	case k.Walk == WalkList:
		return l.bringBack(ctx, began, k, kept)
	case k.Walk == WalkCount && kept.Found < expected:
		l.mu.Lock()
		defer l.mu.Unlock()
		l.keeping.doubt() // waiters that leave may account for what is missing
		l.keeping.early = true
	}
	return nil
}

// clock returns the server's, as far as the process knows.
func (l *fairLine) clock() time.Duration {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.e.Now().Mono + l.keeping.server
}

// say outlives its caller, who may go.
func (l *fairLine) say(ctx context.Context, k Heartbeat) (HeartbeatReply, error) {
	began := l.e.Now().Mono
	kept, err, _ := send.Await(l.e.Sender, ctx, 0, func() (HeartbeatReply, error) { return l.p.Keep(ctx, k) })
	if err == nil {
		l.heard(began, k.Walk, kept)
		return kept, nil
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	l.keeping.doubts = l.keeping.doubts || k.Walk == WalkList
	return kept, err
}

// heard wakes whose turn it is. One that is not there any more is not waited
// for; one that holds the lock may not know it yet.
func (l *fairLine) heard(at time.Duration, walk Walk, kept HeartbeatReply) {
	l.mu.Lock()
	l.keeping.answered(at, walk, kept)
	l.outage.Refused(l.e.Sender) // of all but the one that is told below
	l.keeping.clock(kept.Clock, kept.Started)
	look := kept.Owner != "" && at-l.keeping.looked >= l.e.WatchdogTimeout
	if look {
		l.keeping.looked = at
	}
	l.mu.Unlock()
	switch told := kept.Owner != "" && l.tell(kept.Owner); {
	case told || kept.Owner == "":
	case kept.Free:
		l.skip(kept.Owner)
	case look:
		l.e.suspect(l.e.holder(func(h *Held) bool { return h.Key() == l.p.Key() && h.Owner() == kept.Owner }))
	}
}

// bringBack puts waiters back to the front whose places were lost, by a silence
// of this process or by the clock of another library's: then they get more
// slack from now on. If that came too late, the next keep looks who is to be.
func (l *fairLine) bringBack(ctx context.Context, began time.Duration, k Heartbeat, kept HeartbeatReply) error {
	k.Lost, k.Slack = l.lost(began, kept)
	if len(k.Lost) == 0 {
		return nil
	}
	k.Walk, k.Clock = WalkCount, l.clock()
	again, err := l.say(ctx, k)
	if err == nil && again.Found < 0 {
		l.mu.Lock()
		defer l.mu.Unlock()
		l.keeping.doubts = true
	}
	return err
}

// lost returns the waiters that had a place before and are not among those listed,
// and the slack that they get now.
func (l *fairLine) lost(began time.Duration, kept HeartbeatReply) (owners []string, slack time.Duration) {
	there := make(map[string]bool, len(kept.Places))
	for _, owner := range kept.Places {
		there[owner] = true
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	for w := l.front; w != nil; w = w.next {
		if w.queued && w.since < began && !w.asking && !w.told && w.held == nil && !there[w.owner] && w.owner != kept.Owner {
			owners = append(owners, w.owner)
		}
	}
	if len(owners) > 0 && l.keeping.early { // places were lost that were kept in time
		l.keeping.slack = min(2*l.keeping.slack, mostSlack)
	}
	l.keeping.early = false
	return owners, l.keeping.slack
}
