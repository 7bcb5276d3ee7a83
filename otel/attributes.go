package otel

import (
	"maps"
	"sync"
	"sync/atomic"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/metric"
)

const (
	kindKey      = attribute.Key("rueidisson.kind")
	nameKey      = attribute.Key("rueidisson.name")
	handedKey    = attribute.Key("rueidisson.handed")
	scriptKey    = attribute.Key("rueidisson.script")
	sendsKey     = attribute.Key("rueidisson.sends")
	errorTypeKey = attribute.Key("error.type")
)

// Options are kept as the slices that the instruments take: one made for the
// call would be on the heap, because it goes through an interface.
type (
	adding    = []metric.AddOption
	recording = []metric.RecordOption
)

func attributes(kvs ...attribute.KeyValue) metric.MeasurementOption {
	return metric.WithAttributeSet(attribute.NewSet(kvs...))
}

// outcomes are some attributes and each error type. The one without an error is
// made at the first use; errors are rare enough to be put together each time.
type outcomes struct {
	common []attribute.KeyValue
	once   sync.Once
	fine   recording
}

func (o *outcomes) of(errorType string) recording {
	if errorType != "" {
		return recording{attributes(append(o.common[:len(o.common):len(o.common)], errorTypeKey.String(errorType))...)}
	}
	o.once.Do(func() { o.fine = recording{attributes(o.common...)} })
	return o.fine
}

// kindSets are the attributes of what happens to one kind of object.
type kindSets struct {
	plain, handed, unhanded adding
	waited                  outcomes
}

func newKindSets(kind string) *kindSets {
	k := kindKey.String(kind)
	return &kindSets{
		plain:    adding{attributes(k)},
		handed:   adding{attributes(k, handedKey.Bool(true))},
		unhanded: adding{attributes(k, handedKey.Bool(false))},
		waited:   outcomes{common: []attribute.KeyValue{k}},
	}
}

func (s *kindSets) by(handed bool) adding {
	if handed {
		return s.handed
	}
	return s.unhanded
}

// scriptSets are the attributes of one script.
type scriptSets struct {
	plain adding
	ran   outcomes
}

func newScriptSets(script string) *scriptSets {
	s := scriptKey.String(script)
	return &scriptSets{plain: adding{attributes(s)}, ran: outcomes{common: []attribute.KeyValue{s}}}
}

// memo keeps what was made for each kind or script; the library has a
// handful of them. The map is copied to be written, so that reading it costs no lock;
// a sync.Map would put each key on the heap to look for it.
type memo[T any] struct {
	mu   sync.Mutex
	made atomic.Pointer[map[string]*T]
}

func (m *memo[T]) of(key string, build func(string) *T) *T {
	if made := m.made.Load(); made != nil {
		if t := (*made)[key]; t != nil {
			return t
		}
	}
	return m.add(key, build)
}

// capped is of for names. A program may have any number of those: the ones after the first
// maxLimiters share one.
func (m *memo[T]) capped(name string, build func(string) *T) *T {
	if made := m.made.Load(); made != nil && (*made)[name] == nil && len(*made) >= maxLimiters {
		name = others
	}
	return m.of(name, build)
}

func (m *memo[T]) add(key string, build func(string) *T) *T {
	m.mu.Lock()
	defer m.mu.Unlock()
	next := make(map[string]*T)
	if made := m.made.Load(); made != nil {
		maps.Copy(next, *made)
	}
	if next[key] == nil { // another may have been here meanwhile
		next[key] = build(key)
		m.made.Store(&next)
	}
	return next[key]
}
