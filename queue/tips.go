package queue

import (
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/redis/rueidis"

	"github.com/rueidisson/rueidisson/internal/poller"
)

// tips is how far the streams were read whose consumers wait. All of a process wait
// by one XREAD for what is behind that, whatever their groups: it takes nothing, and
// tells them to look.
type tips struct {
	kind *poller.Kind
	mu   sync.Mutex
	of   map[string]*tip
}

type tip struct {
	id    string
	users int
}

func newTips() *tips {
	s := &tips{of: make(map[string]*tip)}
	s.kind = &poller.Kind{
		Block: "XREAD", Words: s.words, First: s.first, Has: s.has, Had: s.had, Tells: true,
		Pop: "XRANGE", With: []string{"0-0", "0-0"}, // of no entry: whether it can be read at all
		Rest: func(rueidis.RedisMessage) ([]poller.Item, error) { return make([]poller.Item, 1), nil },
	}
	return s
}

// enter says that somebody will wait for what is behind an entry, and reports whether
// those who wait already should look again.
func (s *tips) enter(key, id string) (news bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	t := s.of[key]
	if t == nil {
		t = &tip{id: id}
		s.of[key] = t
	}
	if t.users++; before(t.id, id) {
		t.id, news = id, true
	}
	return news
}

func (s *tips) leave(key string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if t := s.of[key]; t.users == 1 {
		delete(s.of, key)
	} else {
		t.users--
	}
}

func (s *tips) words(keys []string, timeout time.Duration) []string {
	return s.behind(keys, "COUNT", "1", "BLOCK", strconv.FormatInt(max(timeout.Milliseconds(), 1), 10))
}

// has is XREAD without waiting.
func (s *tips) has(key string) []string {
	return append([]string{"XREAD"}, s.behind([]string{key}, "COUNT", "1")...)
}

func (s *tips) had(m rueidis.RedisMessage) (bool, error) {
	_, _, err := s.first(m)
	return true, err
}

// behind adds the keys and how far they were read to the words.
func (s *tips) behind(keys []string, words ...string) []string {
	words = append(append(words, "STREAMS"), keys...)
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, key := range keys {
		id := "$" // of whoever leaves just now
		if t := s.of[key]; t != nil {
			id = t.id
		}
		words = append(words, id)
	}
	return words
}

// first is one of the streams that have something. The others say so again.
func (s *tips) first(m rueidis.RedisMessage) (key string, it poller.Item, err error) {
	got, err := m.AsXReadSlices()
	if err != nil {
		return "", it, err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	for name, entries := range got {
		key = name
		if t := s.of[name]; t != nil && len(entries) > 0 && before(t.id, entries[len(entries)-1].ID) {
			t.id = entries[len(entries)-1].ID
		}
		break
	}
	return key, it, nil
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
