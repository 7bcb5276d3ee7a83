package main

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/rueidisson/rueidisson/internal/cli/exit"
	"github.com/rueidisson/rueidisson/internal/redistest"
	"github.com/rueidisson/rueidisson/ratelimiter"
)

// TestTheToolWorksForTheUserOfTheDocs runs commands as the user that
// docs/redis.md sets up, and asks the server what it denied.
func TestTheToolWorksForTheUserOfTheDocs(t *testing.T) {
	t.Parallel()
	server := redistest.Start(t)
	admin := server.Client(t)
	words := redistest.UserOfThePage(t, "../../docs/redis.md", "+scan +getrange")
	require.NoError(t, admin.Do(t.Context(), admin.B().Arbitrary(words...).Build()).Error())
	newOnServer(t, server.Addr()).rated("another's", ratelimiter.PerSecond(1))

	run := func(args ...string) said {
		return runHere(t, []string{envRedis + "=redis://orders:password@" + server.Addr()}, args...)
	}
	for _, args := range []string{
		"lock orders:1 -- true", "inspect orders:1", "force-unlock orders:1",
		"latch set orders:ready 2", "latch down orders:ready 2", "latch await orders:ready --armed", "latch set orders:ready 2", "latch down orders:ready --party p", "inspect orders:ready",
		"permit set orders:reports 2", "permit run orders:reports -- true", "inspect orders:reports",
		"queue add orders:q a", "queue take orders:q --wait 1s", "queue add orders:q a --delayed --delay 0s", "queue take orders:q --delayed --wait 30s",
		"queue keep orders:q --for 10ms",
		"elect orders:leader -- true", "observe orders:leader --for 10ms",
		"limit set orders:api --rate 5/s", "limit take orders:api 2 --key u", "limit peek orders:api", "limit pause orders:api",
		"limit resume orders:api", "limit top orders:api",
		"job add orders:jobs a b --priority 1 --group g", "job work orders:jobs --drain -- true",
		"job add orders:jobs c", "job work orders:jobs --drain --attempts 1 -- false", "job ls orders:jobs", "job stats orders:jobs",
		"job redrive orders:jobs", "job work orders:jobs --drain --attempts 1 -- false", "job purge orders:jobs",
		"job pause orders:jobs", "job resume orders:jobs",
	} {
		want := 0
		if strings.HasSuffix(args, "-- false") {
			want = exit.Refused // the job failed for good
		}
		assert.Equal(t, want, run(strings.Fields(args)...).code, args)
	}
	denied, err := admin.Do(t.Context(), admin.B().Arbitrary("ACL", "LOG").Build()).ToArray()
	require.NoError(t, err)
	for _, entry := range denied {
		said, err := entry.AsStrMap()
		require.NoError(t, err)
		assert.Equal(t, "cluster|slots", said["object"], "that is rueidis, which asks whether this is a cluster")
	}
	assert.Equal(t, said{0, "orders:api  5/s burst 5\n", ""}, run("limit", "ls"), "what others have is passed over")
}
