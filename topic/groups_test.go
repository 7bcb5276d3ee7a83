package topic

import (
	"slices"
	"strconv"
	"testing"
	"time"

	"github.com/redis/rueidis"
	"github.com/stretchr/testify/require"

	"github.com/rueidisson/rueidisson/internal/enginetest"
	"github.com/rueidisson/rueidisson/internal/redistest"
)

// TestReliableTopicCostsTheServerNoSquareOfItsGroups: each group acknowledges a message,
// and the groups are looked at a few times for that, not once for each of them.
func TestReliableTopicCostsTheServerNoSquareOfItsGroups(t *testing.T) {
	t.Parallel()
	server := redistest.Start(t)
	raw := server.Client(t)
	r := reliableOn(t, raw, "orders")
	const groups = 100
	feeds := make([]*feed, groups)
	for i := range feeds {
		feeds[i] = &feed{h: r.r, of: r.of, group: "g" + strconv.Itoa(i), durable: true}
		made, err := r.r.numbered(&r.of, joining, joinScript, []string{r.of.timeout}, feeds[i].group, never)
		require.NoError(t, err)
		require.EqualValues(t, 1, made)
	}
	for round := range 3 {
		_, err := r.Publish(t.Context(), "a")
		require.NoError(t, err)
		ids := make([]string, groups)
		for i, f := range feeds {
			ids[i] = readBy(t, raw, f)
		}
		server.ResetStats()
		for i, f := range feeds {
			n, err := f.acknowledge(ids[i : i+1])
			require.NoError(t, err)
			require.EqualValues(t, 1, n)
			left, err := r.Len(t.Context())
			require.NoError(t, err)
			require.Equal(t, i < groups-1, left == 1, "after %d of %d groups in round %d", i+1, groups, round)
		}
		require.LessOrEqual(t, server.CommandCalls(t, "xpending"), int64(10*groups)) // one look a second, and two
	}
	// One that leaves, or dies, is counted no more, and one that joins is.
	_, err := r.Publish(t.Context(), "b")
	require.NoError(t, err)
	late := &feed{h: r.r, of: r.of, group: "late", durable: true}
	for i, f := range append(feeds, late) {
		switch {
		case i == 5:
			_, err = r.r.numbered(&r.of, joining, joinScript, []string{r.of.timeout}, late.group, never)
		case i == 10:
			_, err = f.destroy(joining)
			require.NoError(t, err)
			continue
		}
		require.NoError(t, err)
		_, err = f.acknowledge([]string{readBy(t, raw, f)})
		require.NoError(t, err)
		left, err := r.Len(t.Context())
		require.NoError(t, err)
		require.Equal(t, f != late, left == 1, f.group)
	}
}

// readBy is the next message of a group, which is pending then.
func readBy(t *testing.T, raw rueidis.Client, f *feed) (id string) {
	t.Helper()
	got, err := raw.Do(t.Context(), raw.B().Xreadgroup().Group(f.group, consumer).Count(1).Streams().Key(f.of.key).Id(">").Build()).AsXRead()
	require.NoError(t, err)
	require.Len(t, got[f.of.key], 1)
	return got[f.of.key][0].ID
}

// TestReliableTopicTellsOfItsMembers: an observer of combined calls hears of each exchange by which a group is made or taken away.
func TestReliableTopicTellsOfItsMembers(t *testing.T) {
	t.Parallel()
	onServers(t, func(t *testing.T, raw rueidis.Client) {
		const kind = "reliable topic"
		var told enginetest.Batches
		r := reliableBy(t, raw, engineOn(t, raw, told.To), redistest.Name(t))
		first := r.listening()
		require.Equal(t, []int{1}, told.Take(kind))
		second := r.listening()
		require.Empty(t, told.Take(kind), "the group is there")
		second.Close()
		first.Close()
		redistest.Eventually(t, func() bool { return slices.Equal([]int{1}, told.Take(kind)) }, soon, time.Millisecond)
	})
}

// TestReliableTopicTellsForHowManyMembersAnExchangeIs: subscribers of one client that come together join once, also where some leave in
// between.
func TestReliableTopicTellsForHowManyMembersAnExchangeIs(t *testing.T) {
	t.Parallel()
	onServers(t, func(t *testing.T, raw rueidis.Client) {
		var told enginetest.Batches
		r := reliableBy(t, raw, engineOn(t, raw, told.To), redistest.Name(t))
		a, b := r.feed("a"), r.feed("b")
		ears := []*ear{{f: a}, {f: b}, {f: a}, {f: a}}
		batch := []*memberCall{
			{Ask: membership{f: a, ear: ears[0], join: true}},
			{Ask: membership{f: b, ear: ears[1], join: true}},
			{Ask: membership{f: a, ear: ears[2], join: true}},
			{Ask: membership{f: a}},
			{Ask: membership{f: a, ear: ears[3], join: true}},
		}
		require.NoError(t, r.r.sendMembers(r.of.key, 0, batch))
		for _, c := range batch {
			require.NoError(t, c.Answer.err)
		}
		require.Equal(t, []int{2, 1, 1, 1}, told.Take("reliable topic"))
		require.NoError(t, r.r.sendMembers(r.of.key, 0, []*memberCall{{Ask: membership{f: a}}, {Ask: membership{f: b}}}))
	})
}

// TestReliableTopicTellsOfARefusedJoinOnce: joins that share an exchange share its error, and the next ones have an exchange of their own.
func TestReliableTopicTellsOfARefusedJoinOnce(t *testing.T) {
	t.Parallel()
	onServers(t, func(t *testing.T, raw rueidis.Client) {
		var told enginetest.Batches
		r := reliableBy(t, raw, engineOn(t, raw, told.To), redistest.Name(t))
		require.NoError(t, raw.Do(t.Context(), raw.B().Set().Key(r.of.key).Value("no topic").Build()).Error())
		f := r.feed("a")
		var batch []*memberCall
		for range 100 {
			batch = append(batch, &memberCall{Ask: membership{f: f, ear: &ear{f: f}, join: true}})
		}
		for range 2 {
			require.NoError(t, r.r.sendMembers(r.of.key, 0, batch))
			for _, c := range batch {
				require.Error(t, c.Answer.err)
			}
			require.Equal(t, []int{100}, told.Take("reliable topic"))
		}
	})
}

// feed returns a group that has no users.
func (r *reliableRig) feed(group string) *feed {
	return &feed{h: r.r, of: r.of, group: group, flight: map[string]*entry{}}
}
