package topic

import (
	"context"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/redis/rueidis"

	"github.com/rueidisson/rueidisson/internal/engine"
)

const (
	// claimEvery is how often a durable group is asked for what nobody is at work on.
	claimEvery = time.Second
	// sickFor is how long a topic is left alone that the server refuses to read.
	sickFor = time.Second
	// most is how many messages of a topic one command reads.
	most = 100
)

// reader reads the feeds of one group that a server can be asked for at once, by one
// command, which blocks until one of them has something.
type reader struct {
	h    *reliables
	key  readerKey
	news chan struct{} // with one place

	feeds []*feed // guarded by reliables.mu

	place place
	open  bool // it has a connection

	mu       sync.Mutex
	conn     engine.Blocking
	poked    bool // what is read has changed
	blocking bool
	ending   bool // somebody ends the command that blocks

	failures int
}

func (r *reader) add(f *feed) {
	if !slices.Contains(r.feeds, f) {
		r.feeds = append(slices.Clip(r.feeds), f) // a new one: the reader may be going through the old one
	}
}

func (r *reader) remove(f *feed) {
	r.feeds = slices.DeleteFunc(slices.Clone(r.feeds), func(other *feed) bool { return other == f })
}

// poke has the reader look again what it is to read.
func (r *reader) poke() {
	r.mu.Lock()
	r.poked = true
	if r.blocking && !r.ending && !r.conn.Deaf() {
		r.ending = r.h.e.Spawn(r.end)
	}
	r.mu.Unlock()
	select {
	case r.news <- struct{}{}:
	default:
	}
}

// end says that the command is over until it is: a word that comes before it
// blocks ends nothing.
func (r *reader) end() {
	for pause := time.Millisecond; ; pause = min(2*pause, 50*time.Millisecond) {
		r.mu.Lock()
		if !r.blocking {
			r.ending = false
			r.mu.Unlock()
			return
		}
		conn := r.conn
		r.mu.Unlock()
		_, _ = conn.Unblock()
		time.Sleep(pause)
	}
}

// run reads until nobody listens, or the client closes.
func (r *reader) run() {
	defer r.hangUp(false)
	for {
		feeds := r.present()
		switch {
		case r.h.e.Open() != nil:
			leaveAll(feeds)
			return
		case len(feeds) == 0:
			r.yield()
			if !r.sleep(r.h.e.Linger) && r.over() {
				return
			}
			continue
		}
		if err := r.turn(feeds); err != nil {
			r.broken(feeds, err)
		} else {
			r.failures = 0
		}
	}
}

// leaveAll is for a client that closes. A server that is not there is asked once.
func leaveAll(feeds []*feed) {
	var silent error
	for _, f := range feeds {
		f.hush()
		if silent != nil {
			f.abandon(silent)
		} else if err := f.leave(departing); engine.Passing(err) {
			silent = err
		}
	}
}

func (r *reader) present() []*feed {
	r.h.mu.Lock()
	defer r.h.mu.Unlock()
	return r.feeds
}

// over ends the reader if there is nothing to read.
func (r *reader) over() bool {
	r.h.mu.Lock()
	defer r.h.mu.Unlock()
	if len(r.feeds) > 0 {
		return false
	}
	delete(r.h.readers, r.key)
	if len(r.h.readers) == 0 {
		close(r.h.quiet)
	}
	return true
}

// sleep waits for news; it is false if there were none.
func (r *reader) sleep(d time.Duration) bool {
	timer := time.NewTimer(max(d, time.Millisecond))
	defer timer.Stop()
	select {
	case <-r.news:
		return true
	case <-timer.C:
		return false
	}
}

// turn is one look at all feeds.
func (r *reader) turn(feeds []*feed) error {
	now := time.Now()
	some := false
	for _, f := range feeds {
		if err := r.tend(f, now); err != nil {
			return err
		}
		some = some || f.well(now) && f.room()
	}
	if !some {
		r.yield()
		r.sleep(time.Second)
		return nil
	}
	if there, err := r.board(feeds[0].of.key); !there {
		return err
	}
	err := r.readSome(feeds, time.Now())
	if err == nil {
		r.yield()
	}
	return err
}

// readSome reads what is pending, and behind that what comes.
func (r *reader) readSome(feeds []*feed, now time.Time) error {
	var open []*feed
	sick := false
	for _, f := range feeds {
		if f.well(now) && f.asks(now) {
			if err := r.ask(f, now); err != nil {
				return err
			}
		}
		if f.sick != (time.Time{}) {
			sick = true
		} else if f.room() && !f.asks(now) {
			open = append(open, f)
		}
	}
	if len(open) == 0 {
		return nil
	}
	return r.readAll(open, now, sick)
}

// ask asks for what is pending, and sees whether a feed can be read that could not.
func (r *reader) ask(f *feed, now time.Time) error {
	err := r.claim(f, now)
	if err == nil && f.sick != (time.Time{}) {
		err = r.read(0, f)
	}
	return r.refused(f, now, err)
}

// readAll waits for messages. One that the server refuses to read must not hold up
// the others, nor wait for them longer than it has to.
func (r *reader) readAll(open []*feed, now time.Time, sick bool) error {
	d := r.conn.BlockFor(r.place.dock.crowded(r))
	if open[0].durable { // as are all of its group
		d = min(d, claimEvery)
	}
	if sick {
		d = min(d, sickFor)
	}
	for _, f := range open {
		d = min(d, max(f.dues.Left(), time.Millisecond)) // 0 would be for ever
	}
	err := r.read(d, open...)
	if err == nil || !final(err) {
		return err
	}
	for _, f := range open {
		if err := r.refused(f, now, r.read(0, f)); err != nil {
			return err
		}
	}
	return nil
}

// final reports whether the server has refused a command, rather than not been there
// to answer it.
func final(err error) bool {
	_, answered := rueidis.IsRedisErr(err)
	return answered && !engine.Passing(err)
}

// refused leaves a feed alone for which the server has refused a command; other
// errors are returned.
func (r *reader) refused(f *feed, now time.Time, err error) error {
	switch {
	case err == nil:
		f.sick = time.Time{}
	case !final(err):
		return err
	case strings.Contains(err.Error(), "NOGROUP"), strings.Contains(err.Error(), "UNBLOCKED"), engine.WrongType(err):
		f.rejoin()
	default:
		if f.sick == (time.Time{}) {
			r.h.e.Logger.Warn("a reliable topic cannot be read", "name", f.of.key, "err", err)
		}
		f.sick = now.Add(sickFor)
	}
	return nil
}

func (r *reader) connect(key string) (engine.Blocking, error) {
	ctx, cancel := context.WithTimeout(context.Background(), 5*time.Second)
	defer cancel()
	return r.h.e.Blocking(ctx, key)
}

// read delivers the messages that there are, and waits for some for d.
func (r *reader) read(d time.Duration, open ...*feed) error {
	words := []string{"XREADGROUP", "GROUP", r.key.group, consumer, "COUNT", strconv.Itoa(most)}
	if d > 0 {
		words = append(words, "BLOCK", strconv.FormatInt(d.Milliseconds(), 10))
	}
	words = append(words, "STREAMS")
	for _, f := range open {
		words = append(words, f.of.key)
	}
	for range open {
		words = append(words, ">")
	}
	if d > 0 && !r.blocks(true) {
		return nil
	}
	msg, err := r.conn.Ask(d, words...)
	if d > 0 {
		r.blocks(false)
	}
	if rueidis.IsRedisNil(err) {
		return nil
	}
	if err != nil {
		return err
	}
	got, err := msg.AsXRead()
	if err != nil {
		return err
	}
	for _, f := range open {
		f.deliver(got[f.of.key], nil, false)
	}
	return nil
}

// blocks says that the command begins, or is over. It is false if it need not
// begin, since what is to be read has changed.
func (r *reader) blocks(begins bool) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	if begins && r.poked {
		r.poked = false
		return false
	}
	r.blocking = begins
	return true
}

// broken gives the connection up.
func (r *reader) broken(feeds []*feed, err error) {
	r.h.e.Doubt()
	r.hangUp(true)
	for _, f := range feeds { // what the connection was given has perhaps not come
		f.mu.Lock()
		f.claim = true
		f.mu.Unlock()
	}
	r.failures++
	r.h.e.Logger.Debug("reading messages was interrupted", "err", err)
	r.sleep(min(20*time.Millisecond<<min(r.failures, 6), time.Second))
}
