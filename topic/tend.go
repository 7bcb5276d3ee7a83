package topic

import (
	"context"
	"strconv"
	"time"

	"github.com/redis/rueidis"

	"github.com/rueidisson/rueidisson/internal/engine"
)

// tend says that a subscriber lives.
func (r *reader) tend(f *feed, now time.Time) error {
	f.mu.Lock()
	keep := f.joined && !f.durable && now.Sub(f.tended) >= keepEvery
	hold := f.joined && f.durable && now.Sub(f.held) >= f.lease()/3
	if hold {
		f.held = now
	}
	f.mu.Unlock()
	if hold {
		f.hold()
	}
	if keep {
		return r.keep(f, now)
	}
	return nil
}

// asks reports whether what is pending has to be asked for.
func (f *feed) asks(now time.Time) bool {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.takes() && (f.claim || f.durable && now.Sub(f.claimed) >= claimEvery || f.sick != (time.Time{}))
}

// keep says that the group has a subscriber. One that is gone is made again. A full
// server does not take it, and can be read.
func (r *reader) keep(f *feed, now time.Time) error {
	there, err := engine.Yes(r.h.e.Run(context.Background(), keepScript, []string{f.of.timeout}, []string{f.group, f.until()}))
	if err != nil {
		if _, answered := rueidis.IsRedisErr(err); !answered {
			return err
		}
		r.h.e.Logger.Warn("a group of a reliable topic is not kept", "name", f.of.key, "err", err)
		there, now = true, now.Add(keepAgain-keepEvery)
	}
	f.mu.Lock()
	f.tended = now
	f.mu.Unlock()
	if !there {
		f.rejoin()
	}
	return nil
}

// hold says that this process is at work on what it has of a durable group.
func (f *feed) hold() {
	f.mu.Lock()
	var ids []string
	for id := range f.flight {
		ids = append(ids, id)
	}
	f.mu.Unlock()
	if len(ids) > 0 {
		args := append([]string{f.group, consumer, "0"}, ids...)
		_, _ = f.h.e.Run(context.Background(), claim, []string{f.of.key}, append(args, "JUSTID"))
	}
}

// claim asks for what is pending: what this process was given and has not got, and
// of a durable group what other processes have not been done with for a lease.
func (r *reader) claim(f *feed, now time.Time) error {
	idle := "0"
	if f.durable {
		idle = strconv.FormatInt(f.lease().Milliseconds(), 10)
	}
	f.mu.Lock()
	f.claim, f.claimed, f.claiming = false, now, true
	f.mu.Unlock()
	defer f.claimDone()
	for from := "0-0"; ; {
		msg, err := r.conn.Ask(0, "XAUTOCLAIM", f.of.key, f.group, consumer, idle, from, "COUNT", strconv.Itoa(most))
		if err != nil {
			return err
		}
		parts, err := msg.ToArray()
		if err != nil || len(parts) < 2 {
			return err
		}
		entries, err := parts[1].AsXRange()
		if err != nil && !rueidis.IsRedisNil(err) {
			return err
		}
		f.deliver(entries)
		if from, err = parts[0].ToString(); err != nil || from == "0-0" {
			return err
		}
		if !f.room() {
			f.mu.Lock()
			f.claim = true
			f.mu.Unlock()
			return nil
		}
	}
}

// rejoin makes a group again that is gone, and tells those who listen if it was. What
// fails for now is found again at the next read.
func (f *feed) rejoin() {
	made, err := f.h.member(membership{f: f, join: true})
	switch {
	case err == nil && made == 1:
		f.cut()
	case err != nil && engine.Hopeless(err):
		f.fail(err)
	case err != nil:
		f.sick = time.Now().Add(sickFor)
	}
}
