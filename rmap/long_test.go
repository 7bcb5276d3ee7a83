package rmap

import (
	"context"
	"errors"
	"maps"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/redis/rueidis"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/rueidisson/rueidisson/internal/core"
	"github.com/rueidisson/rueidisson/internal/paging"
	"github.com/rueidisson/rueidisson/internal/redistest"
	"github.com/rueidisson/rueidisson/rmap/internal/mapstore"
	"github.com/rueidisson/rueidisson/rmap/internal/maptest"
)

// A send may take a second here, and rueidis closes a connection whose PING takes longer.
// What is long takes a second and a half.
const (
	longBytes = 3 << 20
	longRate  = 2 << 20
)

func slowClient(t *testing.T, server *redistest.Server) rueidis.Client {
	t.Helper()
	return server.Client(t, redistest.Slow(longRate), func(o *rueidis.ClientOption) { o.ConnWriteTimeout = time.Second })
}

// longKinds are maps whose values may be long.
var longKinds = map[string]func(c rueidis.Client, t *testing.T, name string, change ...func(*core.Config)) Mapping[string, string]{
	"map": func(c rueidis.Client, t *testing.T, name string, change ...func(*core.Config)) Mapping[string, string] {
		return New[string, string](maptest.EngineOn(t, c, change...), name, textual)
	},
	"native": func(c rueidis.Client, t *testing.T, name string, change ...func(*core.Config)) Mapping[string, string] {
		return NewTTLMap[string, string](maptest.EngineOn(t, c, change...), name, textual)
	},
	"cache": func(c rueidis.Client, t *testing.T, name string, change ...func(*core.Config)) Mapping[string, string] {
		return NewCache[string, string](maptest.EngineOn(t, c, change...), name, textual)
	},
}

// peeking is what maps have whose entries have times.
type peeking interface {
	Peek(ctx context.Context, k string) (Timed[string, string], bool, error)
}

// TestMapReadsWhatTakesLongerThanASend, by each way to read it.
func TestMapReadsWhatTakesLongerThanASend(t *testing.T) {
	t.Parallel()
	server := redistest.Shared(t, redistest.Version("8.0"))
	long := strings.Repeat("x", longBytes)
	for kind, of := range longKinds {
		tests := map[string]func(t *testing.T){}
		for way, read := range map[string]func(m Mapping[string, string]) (string, error){
			"get": func(m Mapping[string, string]) (string, error) {
				got, _, err := m.Get(context.Background(), "long")
				return got, err
			},
			"get many": func(m Mapping[string, string]) (string, error) {
				got, err := m.GetMany(context.Background(), "long", "none")
				return got["long"], err
			},
			"peek": func(m Mapping[string, string]) (string, error) {
				got, _, err := m.(peeking).Peek(context.Background(), "long")
				return got.Value, err
			},
			"walk": func(m Mapping[string, string]) (got string, err error) {
				for e, err := range m.All(context.Background()) {
					if err != nil {
						return "", err
					}
					got = e.Value
				}
				return got, nil
			},
		} {
			if way == "peek" && kind == "map" {
				continue // its entries have no times
			}
			tests[way] = func(t *testing.T) {
				raw := server.Client(t)
				name := redistest.Name(t)
				require.NoError(t, of(raw, t, name).Put(t.Context(), "long", long))
				m := of(slowClient(t, server), t, name, maptest.ShortSends)
				got, err := read(m)
				require.NoError(t, err)
				require.Equal(t, long, got)
			}
		}
		t.Run(kind, func(t *testing.T) {
			t.Parallel()
			redistest.Together(t, tests)
		})
	}
}

// TestAWalkReadsLongValuesOfABucket of the server's hash table one by one: an answer has a megabyte at most.
func TestAWalkReadsLongValuesOfABucket(t *testing.T) {
	t.Parallel()
	entries := redistest.Count(t, 12, 30)
	for _, version := range []string{"7.0", "8.0", "valkey-8.1"} {
		server := redistest.Shared(t, redistest.Version(version))
		for kind, of := range longKinds {
			if kind == "native" && version != "8.0" {
				continue
			}
			t.Run(version+"/"+kind, func(t *testing.T) {
				t.Parallel()
				m := of(server.Client(t), t, redistest.Name(t))
				want := map[string]string{}
				for i := range entries {
					k := strconv.Itoa(i)
					want[k] = k + strings.Repeat("x", 900<<10)
					require.NoError(t, m.Put(t.Context(), k, want[k]))
				}
				got := map[string]string{}
				for e, err := range m.All(t.Context()) {
					require.NoError(t, err)
					got[e.Key] = e.Value
				}
				require.True(t, maps.Equal(want, got))
			})
		}
	}
}

// TestMapWritesReturnWhatTakesLongerThanASend, though nobody has read it before: with a
// request ID the server remembers it.
func TestMapWritesReturnWhatTakesLongerThanASend(t *testing.T) {
	t.Parallel()
	server := redistest.Shared(t, redistest.Version("8.0"))
	long := strings.Repeat("x", longBytes)
	identified := []MapOption{textual, WithRequestIDs()}
	for kind, of := range map[string]func(c rueidis.Client, name string) Mapping[string, string]{
		"map": func(c rueidis.Client, name string) Mapping[string, string] {
			return New[string, string](maptest.EngineOn(t, c, maptest.ShortSends), name, identified...)
		},
		"cache": func(c rueidis.Client, name string) Mapping[string, string] {
			return NewCache[string, string](maptest.EngineOn(t, c, maptest.ShortSends), name, maptest.As[CacheOption](identified)...)
		},
	} {
		tests := map[string]func(t *testing.T){}
		for way, write := range map[string]func(m Mapping[string, string]) (string, bool, error){
			"take": func(m Mapping[string, string]) (string, bool, error) { return m.Take(context.Background(), "long") },
			"swap": func(m Mapping[string, string]) (string, bool, error) {
				return m.Swap(context.Background(), "long", "x")
			},
			"put if absent": func(m Mapping[string, string]) (string, bool, error) {
				return m.PutIfAbsent(context.Background(), "long", "x")
			},
		} {
			tests[way] = func(t *testing.T) {
				name := redistest.Name(t)
				require.NoError(t, of(server.Client(t), name).Put(t.Context(), "long", long))
				got, _, err := write(of(slowClient(t, server), name))
				require.NoError(t, err)
				require.Equal(t, long, got)
			}
		}
		t.Run(kind, func(t *testing.T) {
			t.Parallel()
			redistest.Together(t, tests)
		})
	}
}

// TestMapExchangeOfLongValuesKeepsNobodyWaiting: they have connections of their own, once
// it is known how long they are.
func TestMapExchangeOfLongValuesKeepsNobodyWaiting(t *testing.T) {
	t.Parallel()
	server := redistest.Shared(t, redistest.Version("8.0"))
	long := strings.Repeat("x", longBytes)
	for kind, of := range longKinds {
		t.Run(kind, func(t *testing.T) {
			t.Parallel()
			name := redistest.Name(t)
			m := of(slowClient(t, server), t, name, maptest.ShortSends)
			beside := func(exchange func() error) time.Duration {
				done := make(chan error, 1)
				go func() { done <- exchange() }() // ends by its own bound
				longest := time.Duration(0)
				for {
					select {
					case err := <-done:
						if errors.Is(err, context.DeadlineExceeded) {
							return time.Hour // too late, unless the process stood still
						}
						require.NoError(t, err)
						return longest
					case <-time.After(10 * time.Millisecond):
					}
					began := time.Now()
					_, err := m.Has(t.Context(), "none")
					require.NoError(t, err)
					longest = max(longest, time.Since(began))
				}
			}
			const soonEnough = 500 * time.Millisecond // they would wait for a second and a half
			_, err := m.Has(t.Context(), "none")
			require.NoError(t, err)
			redistest.Within(t, soonEnough, func() time.Duration {
				return beside(func() error { return m.Put(context.Background(), "long", long) })
			})
			got, err := redistest.Patient(func() (string, error) {
				got, _, err := m.Get(t.Context(), "long") // from now on it is known
				return got, err
			})
			require.NoError(t, err)
			require.Equal(t, long, got)
			redistest.Within(t, soonEnough, func() time.Duration {
				return beside(func() error {
					got, _, err := m.Get(context.Background(), "long")
					assert.True(t, err != nil || len(got) == len(long))
					return err
				})
			})
			redistest.Within(t, soonEnough, func() time.Duration {
				return beside(func() error {
					got, _, err := m.Take(context.Background(), "long")
					assert.True(t, err != nil || len(got) == 0 || len(got) == len(long))
					return err
				})
			})
		})
	}
}

// TestMapLongExchangesGoTwoAtATime to a server.
func TestMapLongExchangesGoTwoAtATime(t *testing.T) {
	t.Parallel()
	client, proxy := maptest.Through(t, redistest.Shared(t))
	m := New[string, string](maptest.EngineOn(t, client), redistest.Name(t), textual)
	long := strings.Repeat("x", longBytes/2)
	var all sync.WaitGroup
	for i := range 10 {
		all.Go(func() { assert.NoError(t, m.Put(context.Background(), string(rune('a'+i)), long)) })
	}
	all.Wait()
	require.LessOrEqual(t, len(proxy.Conns()), 1+2, "one is for everything else")
}

// TestMapLongExchangeEndsWhenTheServerIsSilent: it does not answer what is small either.
func TestMapLongExchangeEndsWhenTheServerIsSilent(t *testing.T) {
	t.Parallel()
	redistest.Within(t, redistest.Scaled(8*time.Second), func() time.Duration {
		client, proxy := maptest.Through(t, redistest.Shared(t))
		m := New[string, string](maptest.EngineOn(t, client, maptest.ShortSends), redistest.Name(t), textual)
		long := strings.Repeat("x", longBytes)
		require.NoError(t, m.Put(t.Context(), "long", long))
		_, _, err := m.Get(t.Context(), "long")
		require.NoError(t, err)
		proxy.BlackHole()
		defer proxy.Restore()
		began := time.Now()
		_, _, err = m.Get(context.Background(), "long")
		require.Error(t, err)
		require.NotErrorIs(t, err, ErrOutcomeUnknown, "it has changed nothing")
		took := time.Since(began)
		require.ErrorIs(t, m.Put(context.Background(), "long", long), ErrOutcomeUnknown)
		return took
	})
}

// TestMapGetsThatGoOutTogetherAreFewWhereNothingIsKnown of the size of their values.
func TestMapGetsThatGoOutTogetherAreFewWhereNothingIsKnown(t *testing.T) {
	t.Parallel()
	size := new(paging.Size)
	require.Equal(t, mapstore.FirstGets, mapstore.Cut(1000, size))
	require.Equal(t, 3, mapstore.Cut(3, size))
	for bytes, n := range map[int64]int{100: mapstore.MostGets, 10_000: mapstore.MostRead / 10_000, 1 << 20: 1} {
		size.Store(bytes)
		require.Equal(t, n, mapstore.Cut(1000, size), "%d bytes", bytes)
	}
}
