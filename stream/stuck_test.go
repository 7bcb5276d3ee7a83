package stream

import (
	"errors"
	"strconv"
	"testing"
	"time"

	"github.com/redis/rueidis"
	"github.com/stretchr/testify/require"

	"github.com/rueidisson/rueidisson/internal/core"
	"github.com/rueidisson/rueidisson/internal/enginetest"
	"github.com/rueidisson/rueidisson/internal/keys"
	"github.com/rueidisson/rueidisson/internal/paging"
	"github.com/rueidisson/rueidisson/internal/redistest"
)

// wide is an entry of so many fields.
func wide(t testing.TB, s *Stream[string, string], n int) (id string) {
	t.Helper()
	fields := make(map[string]string, n)
	for i := range n {
		fields[strconv.Itoa(i)] = "v"
	}
	id, err := s.Add(t.Context(), fields)
	require.NoError(t, err)
	return id
}

// TestGroupMessageOfThousandsOfFieldsIsPutAside, with as many of them as a script can pass on; it
// is told if that is not all, and comes again whole.
func TestGroupMessageOfThousandsOfFieldsIsPutAside(t *testing.T) {
	t.Parallel()
	onReal(t, func(t *testing.T, server *redistest.Server) {
		raw := server.Client(t)
		s := texted(t, raw)
		g := made(t, s)
		dropDead(t, raw, s)
		const most = 3900
		ids := []string{wide(t, s, most), wide(t, s, most+200)}
		for _, id := range ids {
			for m, err := range g.Messages(within(t), "c", WithMaxAttempts(1)) {
				require.NoError(t, err)
				require.Equal(t, id, m.ID)
				require.NoError(t, m.Nack(t.Context(), errors.New("too wide")))
				break
			}
		}
		n := 0
		for d, err := range g.Dead(t.Context()) {
			require.Equal(t, ids[n], d.ID)
			require.EqualValues(t, 1, d.Attempts)
			require.Equal(t, "too wide", d.Cause)
			if n++; n == 1 {
				require.NoError(t, err)
				require.Len(t, d.Fields, most)
				continue
			}
			require.ErrorIs(t, err, ErrDecode)
			require.ErrorContains(t, err, "200 fields")
			require.Empty(t, d.Fields)
		}
		require.Equal(t, 2, n)
		back, err := g.Redrive(t.Context())
		require.NoError(t, err)
		require.EqualValues(t, 2, back)
		sizes := map[string]int{}
		for m, err := range g.Messages(within(t), "c") {
			require.NoError(t, err)
			require.NoError(t, m.Ack(t.Context()))
			if sizes[m.ID] = len(m.Fields); len(sizes) == 2 {
				break
			}
		}
		require.Equal(t, map[string]int{ids[0]: most, ids[1]: most + 200}, sizes)
	})
}

// TestGroupMessageThatCannotBePutAsideIsTold, and not kept from the loop for ever.
func TestGroupMessageThatCannotBePutAsideIsTold(t *testing.T) {
	t.Parallel()
	onServers(t, func(t *testing.T, raw rueidis.Client) {
		log := &enginetest.Log{}
		s := texted(t, raw, log.To)
		g := made(t, s)
		dropDead(t, raw, s)
		id := add(t, s, "bad")
		redistest.Do(t, raw, "XREADGROUP", "GROUP", "g", "dead", "STREAMS", s.q.Key, ">") // its last attempt
		redistest.Do(t, raw, "SET", keys.StreamDead(s.q.Key, "g"), "of another type")
		for m, err := range g.Messages(within(t), "c", WithIdle(10*time.Millisecond), WithMaxAttempts(1)) {
			require.ErrorIs(t, err, core.ErrNotice)
			require.ErrorContains(t, err, "WRONGTYPE")
			require.Equal(t, id, m.ID)
			require.Equal(t, map[string]string{"v": "bad"}, m.Fields)
			redistest.Do(t, raw, "DEL", keys.StreamDead(s.q.Key, "g"))
			require.NoError(t, m.Bury(t.Context(), err))
			break
		}
		require.True(t, log.Has(id), "it is logged")
		dead := all(t, g.Dead(t.Context()))
		require.Len(t, dead, 1)
		require.Equal(t, id, dead[0].ID)
		require.Contains(t, dead[0].Cause, "WRONGTYPE")
	})
}

// TestGroupMessagesAreCountedFarApart, where the consumer is at work on thousands between them.
func TestGroupMessagesAreCountedFarApart(t *testing.T) {
	t.Parallel()
	onReal(t, func(t *testing.T, server *redistest.Server) {
		raw := server.Client(t)
		s := texted(t, raw)
		g := made(t, s)
		const between = paging.Most
		first := add(t, s, "first")
		redistest.Do(t, raw, "EVAL", "for i = 1, ARGV[1] do redis.call('xadd', KEYS[1], '*', 'v', i) end", "1", s.q.Key, strconv.Itoa(between))
		last := add(t, s, "last")
		redistest.Do(t, raw, "XREADGROUP", "GROUP", "g", "c", "COUNT", strconv.Itoa(between+2), "STREAMS", s.q.Key, ">")
		redistest.Do(t, raw, "XCLAIM", s.q.Key, "g", "c", "0", first, last, "IDLE", "3600000", "RETRYCOUNT", "3", "JUSTID")
		c, err := g.consumption(t.Context(), "c", []ConsumeOption{WithIdle(time.Minute), WithBatch(paging.Most)})
		require.NoError(t, err)
		c.counts, c.size, c.pages.N = map[string]int64{}, paging.Most, paging.Most
		c.batch, err = c.claim()
		require.NoError(t, err)
		require.Len(t, c.batch, 2)
		require.Equal(t, map[string]int64{first: 4, last: 4}, c.counts)
		c.end()
		require.Empty(t, c.counts, "of what was given back")
	})
}
