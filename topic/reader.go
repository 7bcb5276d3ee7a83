package topic

import (
	"context"
	"maps"
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

type readerKey struct {
	slot  uint16
	group string
}

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

// attach has a reader read a feed.
func (h *reliables) attach(f *feed) {
	h.mu.Lock()
	k := readerKey{h.e.Slot(f.of.key), f.group}
	r := h.readers[k]
	if r == nil {
		r = &reader{h: h, key: k, news: make(chan struct{}, 1), place: place{come: make(chan *engine.Blocking, 1)}}
		if h.e.Spawn(r.run) {
			h.watch()
			h.readers[k] = r
		}
	}
	r.add(f)
	h.mu.Unlock()
	r.poke()
}

// watch has the readers of a client that closes stop what they wait for.
func (h *reliables) watch() {
	if len(h.readers) > 0 {
		return
	}
	quiet := make(chan struct{})
	h.quiet = quiet
	h.e.Spawn(func() {
		select {
		case <-h.e.Closing():
			h.endAll()
		case <-quiet:
		}
	})
}

func (h *reliables) endAll() {
	h.mu.Lock()
	all := slices.Collect(maps.Values(h.readers))
	h.mu.Unlock()
	for _, r := range all {
		r.poke()
	}
	for _, r := range all {
		r.end() // here, since Spawn may refuse already
	}
}

func (r *reader) add(f *feed) {
	for _, other := range r.feeds {
		if other == f {
			return
		}
	}
	r.feeds = append(r.feeds[:len(r.feeds):len(r.feeds)], f)
}

// of is the reader of a feed, if there is one.
func (h *reliables) of(f *feed) *reader { return h.readers[readerKey{h.e.Slot(f.of.key), f.group}] }

// detach has a feed not read any more.
func (h *reliables) detach(f *feed) {
	h.mu.Lock()
	r := h.of(f)
	if r != nil {
		var left []*feed
		for _, other := range r.feeds {
			if other != f {
				left = append(left, other)
			}
		}
		r.feeds = left
	}
	h.mu.Unlock()
	if r != nil {
		r.poke()
	}
}

// wake says that a feed has room again.
func (h *reliables) wake(f *feed) {
	h.mu.Lock()
	r := h.of(f)
	h.mu.Unlock()
	if r != nil {
		r.poke()
	}
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
	for _, f := range feeds {
		f.hush()
		if err := f.leave(departing); engine.Passing(err) {
			return
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
		f.deliver(got[f.of.key])
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
