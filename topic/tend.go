package topic

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/redis/rueidis"

	"github.com/rueidisson/rueidisson/internal/send"
)

// tend says that a subscriber lives.
func (f *feed) tend(now time.Time) error {
	f.mu.Lock()
	keep := f.joined && !f.durable && now.Sub(f.tended) >= keepEvery
	hold := f.joined && f.durable && now.Sub(f.held) >= f.lease()/3
	if hold {
		f.held = now
	}
	f.mu.Unlock()
	if hold {
		if err := f.release(f.overdue(now)); err != nil {
			return err
		}
		f.hold()
	}
	if keep {
		return f.keep(now)
	}
	return nil
}

// asks reports whether what is pending has to be asked for.
func (f *feed) asks(now time.Time) bool {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.takes() && (f.claim || f.durable && now.Sub(f.claimed) >= claimEvery || f.sick != (time.Time{}) || f.dues.Passed())
}

// keep says that the group has a subscriber. One that is gone is made again. A full
// server does not take it, and can be read.
func (f *feed) keep(now time.Time) error {
	there, err := send.Yes(f.h.e.Run(context.Background(), keepScript, []string{f.of.timeout}, []string{f.group, f.until()}))
	if err != nil {
		if _, answered := rueidis.IsRedisErr(err); !answered {
			return err
		}
		f.h.e.Logger.Warn("a group of a reliable topic is not kept", "name", f.of.key, "err", err)
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

// hold says that this process is at work on what it has of a durable group. What the
// topic has dropped meanwhile is nowhere else.
func (f *feed) hold() {
	f.mu.Lock()
	var all []*entry
	for _, it := range f.flight {
		if !it.forgotten && (it.failed == nil || it.left > 0) { // else it would not come again in time
			all = append(all, it)
		}
	}
	f.mu.Unlock()
	f.holdAll(all)
}

// holdAll is hold for those messages.
func (f *feed) holdAll(all []*entry) {
	own, again := f.parted(all)
	for i, some := range [][]*entry{own, again} {
		dropped := f.holdIn(f.streams()[i], some)
		f.holdIn(f.streams()[i], dropped) // which are pending until then
	}
}

// What hold.lua says of a message that is not held.
const (
	isDropped = 0 // and pending until its process asks once more
	isDeleted = 3 // by XDEL, and not pending any more
)

// holdIn is hold for messages of one stream. It returns those that it found to be dropped.
func (f *feed) holdIn(stream string, all []*entry) (dropped []*entry) {
	if len(all) == 0 {
		return nil
	}
	words, asked := f.words(all)
	got, err := f.h.e.Run(context.Background(), holdScript, []string{stream}, append([]string{f.group, consumer}, words...))
	var said []int64
	if err == nil {
		said, err = got.AsIntSlice()
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	if err != nil || len(said) != len(all) {
		for i, it := range all {
			it.unsure = asked[i] || it.unsure && errors.Is(err, ErrOutcomeUnknown)
		}
		return nil
	}
	for i, it := range all {
		there := f.flight[it.id] == it // else it was given back, and counted there
		switch {
		case strings.HasPrefix(words[i], "!"):
			if said[i] == 1 {
				it.dropped = true
			} else if !asked[i] && !it.forgotten && !got.Replayed {
				it.dropped = false // another process has counted it
			}
			it.forgotten = true
		case said[i] == isDropped && there:
			it.dropped = true
			dropped = append(dropped, it)
		case said[i] == isDeleted && there:
			it.dropped, it.forgotten = true, true
		}
	}
	return dropped
}

// words returns what hold.lua is told of messages, and of each whether it was told before to forget it.
func (f *feed) words(all []*entry) (words []string, asked []bool) {
	f.mu.Lock()
	defer f.mu.Unlock()
	for _, it := range all {
		asked = append(asked, it.unsure)
		if it.dropped {
			it.unsure = true
			words = append(words, "!"+f.at(it.id))
		} else {
			words = append(words, f.at(it.id))
		}
	}
	return words, asked
}

// claimBy asks for what is pending: what this process was given and has not got, and
// of a durable group what other processes have not been done with for a lease.
func (f *feed) claimBy(l *link, now time.Time) error {
	f.claimBegins(now)
	defer f.claimDone()
	for from := "-"; ; {
		if err := f.tend(time.Now()); err != nil {
			return err
		}
		msg, err := f.pending(l, from, f.amount.count())
		if err != nil {
			f.mu.Lock()
			f.claim = true // it was not answered
			f.mu.Unlock()
			return err
		}
		missed := int64(0)
		if from, missed, err = f.claims(msg); err == nil && missed > 0 {
			var took int64
			if took, err = f.takeMissed(missed); err == nil { // what was claimed has come all the same
				f.lag(took)
			}
		}
		if err != nil || from == "" {
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

func (f *feed) claimBegins(now time.Time) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.claim, f.claimed, f.claiming = false, now, true
}

// pending asks for up to n messages that are pending, from an id on. What is large, or was late, goes by a connection
// of its own.
func (f *feed) pending(l *link, from string, n int) (rueidis.RedisMessage, error) {
	on, args := f.claimCall(from, n)
	if f.amount.large() {
		return f.large(l, claiming, on, args)
	}
	defer l.take(f.amount.bytes())()
	return l.Ask(f.h.patience(), f.claimWords(from, n)...)
}

// claiming is claim.lua, whose answer may be long.
var claiming = send.Sized(claimScript, send.Sizing{Writes: true})

// claimCall returns the keys and arguments of claim.lua.
func (f *feed) claimCall(from string, n int) (on, args []string) {
	idle, durable := "0", "0"
	if f.durable {
		idle, durable = strconv.FormatInt(f.lease().Milliseconds(), 10), "1"
	}
	return []string{f.of.key, f.of.missed, f.of.again(f.group)}, []string{f.group, consumer, idle, from, strconv.Itoa(n), durable}
}

// claimWords returns the command that asks for what is pending.
func (f *feed) claimWords(from string, n int) []string {
	on, args := f.claimCall(from, n)
	return slices.Concat([]string{"EVAL", claimScript.Body(), strconv.Itoa(len(on))}, on, args)
}

// claims delivers what was pending. It returns from which id on to ask for more, or "", and how many messages the
// group has missed.
func (f *feed) claims(msg rueidis.RedisMessage) (from string, missed int64, err error) {
	parts, err := msg.ToArray()
	if err != nil || len(parts) < 6 {
		return "", 0, err
	}
	own, err := claimedOf(parts[1], parts[3])
	if err != nil {
		return "", 0, err
	}
	again, err := claimedOf(parts[4], parts[5])
	if err != nil {
		return "", 0, err
	}
	missed, _ = parts[2].AsInt64()
	f.amount.saw(own.entries)
	f.amount.saw(again.entries)
	f.deliver(again.entries, again.counts, true)
	f.deliver(own.entries, own.counts, false)
	from, err = parts[0].ToString()
	return from, missed, err
}

// claimed is messages that were taken over, and how often each was delivered.
type claimed struct {
	entries []rueidis.XRangeEntry
	counts  []int64
}

func claimedOf(messages, counts rueidis.RedisMessage) (c claimed, err error) {
	if c.entries, err = messages.AsXRange(); err != nil && !rueidis.IsRedisNil(err) {
		return c, err
	}
	if c.counts, err = counts.AsIntSlice(); err == nil && len(c.counts) != len(c.entries) {
		err = fmt.Errorf("%d messages were delivered %d times", len(c.entries), len(c.counts))
	}
	return c, err
}

// rejoin makes a group again that is gone, and tells those who listen if it was. What
// fails for now is found again at the next read.
func (f *feed) rejoin() {
	made, err := f.h.member(membership{f: f, join: true})
	switch {
	case err == nil && made == 1: // messages may have been missed
		f.mu.Lock()
		defer f.mu.Unlock()
		for _, r := range f.ears {
			r.with(func() { r.cut = true })
		}
	case err != nil && send.Permanent(err): // a new subscriber finds out whether it can be read again
		f.mu.Lock()
		defer f.mu.Unlock()
		for _, r := range f.ears {
			r.with(func() { r.err = err })
		}
		f.ears, f.failed = nil, true
	case err != nil:
		f.sick = time.Now().Add(sickFor)
	}
}
