package poller

import (
	"fmt"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/redis/rueidis"
)

// Streams remembers how far the streams were read whose readers wait. The readers of a client share one
// XREAD for later entries, whatever their groups. XREAD takes nothing: it tells them to read.
type Streams struct {
	Kind *Kind
	mu   sync.Mutex
	of   map[string]*cursor
}

type cursor struct {
	id    string
	users int
}

// NewStreams returns Streams without readers.
func NewStreams() *Streams {
	s := &Streams{of: map[string]*cursor{}}
	s.Kind = &Kind{
		Block: "XREAD", Words: s.words, Told: s.told, Has: s.has, Had: s.had, Tells: true,
		Pop: "XRANGE", With: []string{"0-0", "0-0"}, // of no entry: whether it can be read at all
		Rest: func(rueidis.RedisMessage) ([]Item, error) { return make([]Item, 1), nil },
	}
	return s
}

// Enter says that somebody will wait for what is behind an entry, and reports whether
// those who wait already should read again. Leave follows.
func (s *Streams) Enter(key, id string) (news bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	c := s.of[key]
	if c == nil {
		c = &cursor{id: id}
		s.of[key] = c
	}
	if c.users++; before(c.id, id) {
		c.id, news = id, true
	}
	return news
}

// Leave says that one of those who entered waits no more.
func (s *Streams) Leave(key string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if c := s.of[key]; c.users == 1 {
		delete(s.of, key)
	} else {
		c.users--
	}
}

// Len returns how many streams are waited for.
func (s *Streams) Len() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return len(s.of)
}

func (s *Streams) words(keys []string, timeout time.Duration) []string {
	return s.behind(keys, "COUNT", "1", "BLOCK", strconv.FormatInt(max(timeout.Milliseconds(), 1), 10))
}

// behindID returns the ID of the first entry behind one, with the key. The entry itself may be long.
const behindID = "local e = redis.call('XRANGE', KEYS[1], '(' .. ARGV[1], '+', 'COUNT', 1)[1] return e and {KEYS[1], e[1]}"

// has returns the words of a script that says whether there is an entry to read.
func (s *Streams) has(key string) []string {
	s.mu.Lock()
	defer s.mu.Unlock()
	if c := s.of[key]; c != nil {
		return []string{"EVAL", behindID, "1", key, c.id}
	}
	return []string{"EVAL", "return false", "1", key} // of a reader that leaves just now
}

func (s *Streams) had(m rueidis.RedisMessage) (bool, error) {
	both, err := m.AsStrSlice()
	if err == nil && len(both) != 2 {
		err = fmt.Errorf("%d words in place of a stream and an ID", len(both))
	}
	if err != nil {
		return false, err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.reaches(both[0], both[1])
	return true, nil
}

// behind adds the keys and how far they were read to the words.
func (s *Streams) behind(keys []string, words ...string) []string {
	words = append(append(words, "STREAMS"), keys...)
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, key := range keys {
		id := "$" // of a reader that leaves just now
		if c := s.of[key]; c != nil {
			id = c.id
		}
		words = append(words, id)
	}
	return words
}

// told returns the streams that have an entry.
func (s *Streams) told(m rueidis.RedisMessage) (keys []string, err error) {
	got, err := m.AsXReadSlices()
	if err != nil {
		return nil, err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	for name, entries := range got {
		keys = append(keys, name)
		if len(entries) > 0 {
			s.reaches(name, entries[len(entries)-1].ID)
		}
	}
	return keys, nil
}

// reaches notes that the readers of a stream are told of an entry. The mutex is held.
func (s *Streams) reaches(key, id string) {
	if c := s.of[key]; c != nil && before(c.id, id) {
		c.id = id
	}
}

// before compares IDs of entries.
func before(a, b string) bool {
	ams, aseq := parts(a)
	bms, bseq := parts(b)
	return ams < bms || ams == bms && aseq < bseq
}

func parts(id string) (ms, seq uint64) {
	first, second, _ := strings.Cut(id, "-")
	ms, _ = strconv.ParseUint(first, 10, 64)
	seq, _ = strconv.ParseUint(second, 10, 64)
	return ms, seq
}
