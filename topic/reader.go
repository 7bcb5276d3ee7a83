package topic

import (
	"context"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/redis/rueidis"

	"github.com/rueidisson/rueidisson/internal/engine"
)

// claimEvery is how often a durable group is asked for what nobody is at work on.
const claimEvery = time.Second

type readerKey struct {
	slot  uint16
	group string
}

// reader reads the feeds of one group that a server can be asked for at once: one
// connection, which blocks until one of them has something.
type reader struct {
	h    *reliables
	key  readerKey
	news chan struct{} // with one place

	feeds []*feed // guarded by reliables.mu

	mu       sync.Mutex
	conn     engine.Blocking
	open     bool
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
		r = &reader{h: h, key: k, news: make(chan struct{}, 1)}
		if h.e.Spawn(r.run) {
			h.readers[k] = r
		}
	}
	r.add(f)
	h.mu.Unlock()
	r.poke()
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
	defer r.hangUp()
	over := make(chan struct{})
	defer close(over)
	if !r.h.e.Spawn(func() {
		select {
		case <-r.h.e.Closing():
			r.poke()
			r.end() // here, since Spawn may refuse already
		case <-over:
		}
	}) {
		return
	}
	for {
		feeds := r.present()
		switch {
		case r.h.e.Open() != nil:
			for _, f := range feeds {
				f.leave(departing)
			}
			return
		case len(feeds) == 0:
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

func (r *reader) hangUp() {
	if r.open {
		r.open = false
		r.conn.Close()
	}
}

// turn is one look at all feeds.
func (r *reader) turn(feeds []*feed) error {
	if !r.open {
		if err := r.connect(feeds); err != nil {
			return err
		}
	}
	for _, f := range feeds {
		if err := r.tend(f); err != nil {
			return err
		}
	}
	var open []*feed
	for _, f := range feeds {
		if f.room() {
			open = append(open, f)
		}
	}
	if len(open) == 0 {
		r.sleep(time.Second)
		return nil
	}
	return r.read(open)
}

func (r *reader) connect(feeds []*feed) error {
	ctx, cancel := context.WithTimeout(context.Background(), 5*time.Second)
	defer cancel()
	conn, err := r.h.e.Blocking(ctx, feeds[0].of.key)
	if err != nil {
		return err
	}
	r.mu.Lock()
	r.conn, r.open = conn, true
	r.mu.Unlock()
	for _, f := range feeds { // what the old connection was given has perhaps not come
		f.mu.Lock()
		f.claim = true
		f.mu.Unlock()
	}
	return nil
}

// read waits for messages, and delivers them.
func (r *reader) read(open []*feed) error {
	words := []string{"XREADGROUP", "GROUP", r.key.group, consumer, "COUNT", "100", "BLOCK"}
	d := r.conn.BlockFor()
	if open[0].durable { // as are all of its group
		d = min(d, claimEvery)
	}
	words = append(words, strconv.FormatInt(d.Milliseconds(), 10), "STREAMS")
	for _, f := range open {
		words = append(words, f.of.key)
	}
	for range open {
		words = append(words, ">")
	}
	if !r.blocks(true) {
		return nil
	}
	msg, err := r.conn.Ask(d, words...)
	r.blocks(false)
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

// tend says that a subscriber lives, and asks for what is pending.
func (r *reader) tend(f *feed) error {
	now := time.Now()
	f.mu.Lock()
	keep := f.joined && !f.durable && now.Sub(f.tended) >= keepEvery
	ask := f.joined && f.claim && len(f.flight) < window && len(f.ears) > 0
	ask = ask || f.joined && f.durable && now.Sub(f.claimed) >= claimEvery && len(f.ears) > 0
	hold := f.joined && f.durable && now.Sub(f.held) >= f.lease()/3
	if hold {
		f.held = now
	}
	f.mu.Unlock()
	if keep {
		if err := r.keep(f, now); err != nil {
			return err
		}
	}
	if hold {
		f.hold()
	}
	if ask {
		return r.claim(f, now)
	}
	return nil
}

// keep says that the group has a subscriber. One that is gone is made again.
func (r *reader) keep(f *feed, now time.Time) error {
	there, err := engine.Yes(r.h.e.Run(context.Background(), keepScript, []string{f.of.timeout}, []string{f.group, f.until()}))
	if err != nil {
		return err
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
		msg, err := r.conn.Ask(0, "XAUTOCLAIM", f.of.key, f.group, consumer, idle, from, "COUNT", "100")
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
	}
}

// broken gives the connection up, and sees what has become of the groups.
func (r *reader) broken(feeds []*feed, err error) {
	r.h.e.Doubt()
	r.mu.Lock()
	conn, open := r.conn, r.open
	r.open = false
	r.mu.Unlock()
	if open {
		conn.Close()
	}
	r.failures++
	r.h.e.Logger.Debug("reading messages was interrupted", "err", err)
	if text := err.Error(); strings.Contains(text, "NOGROUP") || strings.Contains(text, "UNBLOCKED") || engine.WrongType(err) {
		for _, f := range feeds {
			f.rejoin()
		}
	}
	r.sleep(min(20*time.Millisecond<<min(r.failures, 6), time.Second))
}
