package main

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/redis/rueidis"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/rueidisson/rueidisson"
	"github.com/rueidisson/rueidisson/codec"
	"github.com/rueidisson/rueidisson/internal/cli"
	"github.com/rueidisson/rueidisson/internal/cli/exit"
	"github.com/rueidisson/rueidisson/internal/cli/run"
	"github.com/rueidisson/rueidisson/internal/redistest"
	"github.com/rueidisson/rueidisson/queue/reliable"
	"github.com/rueidisson/rueidisson/rueidissontest"
)

func TestHelpOfJob(t *testing.T) {
	t.Parallel()
	files := map[string][]string{"job": {"job", "--help"}}
	for _, command := range []string{"add", "work", "stats", "ls", "watch", "pause", "resume", "dead", "redrive", "purge", "terms", "cancel", "rm", "find", "result", "reschedule", "queues"} {
		files["job-"+command] = []string{"job", command, "--help"}
	}
	for name, args := range files {
		got := runHere(t, nil, args...)
		assert.Zero(t, got.code)
		file := filepath.Join("testdata", "help", name+".txt")
		if *update {
			require.NoError(t, os.WriteFile(file, []byte(got.out), 0o644))
		}
		want, err := os.ReadFile(file)
		require.NoError(t, err)
		assert.Equal(t, string(want), got.out, "go test -update writes it anew")
	}
}

func TestExitCodesOfJob(t *testing.T) {
	t.Parallel()
	server := rueidissontest.NewServer(t)
	env := []string{envRedis + "=" + server.URL()}
	for _, c := range []struct {
		args string
		code int
	}{
		{"", exit.Usage},
		{"ad q x", exit.Usage},
		{"add q", exit.Usage},
		{"add q x --priority 256", exit.Usage},
		{"add q x --priority -1", exit.Usage},
		{"add q x --delay -1s", exit.Usage},
		{"add q x --expiry 0s", exit.Usage},
		{"add q x --group=", exit.Usage},
		{"add q x --unique=", exit.Usage},
		{"add q x --dedup k", exit.Usage},
		{"add q x --dedup k=soon", exit.Usage},
		{"add q x --dedup =1m", exit.Usage},
		{"add q x y --dedup k=1m", exit.Usage},
		{"add q x y --unique k", exit.Usage},
		{"add q - --unique k", exit.Usage},
		{"add q x --as int", exit.Usage},
		{"add q x --codec xml", exit.Usage},
		{"add q x --redis redis://127.0.0.1:1", exit.Unavailable},
		{"queues x", exit.Usage},
		{"queues --redis redis://127.0.0.1:1", exit.Unavailable},
		{"stats", exit.Usage},
		{"stats q x", exit.Usage},
		{"ls", exit.Usage},
		{"ls q --state done", exit.Usage},
		{"ls q --codec xml", exit.Usage},
		{"watch q --interval 0", exit.Usage},
		{"watch q --for 0", exit.Usage},
		{"pause q --for 0", exit.Usage},
		{"pause", exit.Usage},
		{"resume", exit.Usage},
		{"redrive", exit.Usage},
		{"redrive q x", exit.Usage},
		{"redrive q 0", exit.Usage},
		{"purge q 1.5", exit.Usage},
		{"purge", exit.Usage},
		{"dead q --state dead", exit.Usage},
		{"cancel q", exit.Usage},
		{"cancel q x", exit.Usage},
		{"rm q", exit.Usage},
		{"find q", exit.Usage},
		{"find q 0", exit.Usage},
		{"result q 1 --wait -1s", exit.Usage},
		{"reschedule q 1", exit.Usage},
		{"reschedule q 1 --now --delay 1s", exit.Usage},
		{"reschedule q 1 --at tomorrow", exit.Usage},
		{"reschedule q 1 --priority 256", exit.Usage},
		{"reschedule q 1 --delay -1s", exit.Usage},
		{"find q 1", exit.Refused},
		{"result q 1", exit.Refused},
		{"reschedule q 1 --now", exit.Refused},
		{"terms", exit.Usage},
		{"terms q x", exit.Usage},
		{"terms q --attempts 0", exit.Usage},
		{"terms q --backoff 11m", exit.Usage},
		{"terms q --dead-limit 0", exit.Usage},
		{"terms q --dead-age 0", exit.Usage},
		{"terms q --lease 1ms", exit.Usage},
		{"stats q --redis redis://127.0.0.1:1", exit.Unavailable},
		{"work q", exit.Usage},
		{"work q --", exit.Usage},
		{"work -- true", exit.Usage},
		{"work q true", exit.Usage},
		{"work q --codec xml -- true", exit.Usage},
		{"work q --concurrency 0 -- true", exit.Usage},
		{"work q --attempts 0 -- true", exit.Usage},
		{"work q --lease 1ms -- true", exit.Usage},
		{"work q --backoff -1s -- true", exit.Usage},
		{"work q --backoff 11m -- true", exit.Usage},
		{"work q --grace -1s -- true", exit.Usage},
		{"work q --for 0s -- true", exit.Usage},
		{"work q --drain -- /nowhere/x", exit.NotFound},
		{"work q --drain -- /etc/passwd", exit.NotExecutable},
		{"work q --drain --redis redis://127.0.0.1:1 -- true", exit.Unavailable},
		{"work q --drain -- false", 0}, // there is nothing
		{"--drain work q -- false", 0},
		{"work q --for 20ms -- false", 0},
		{"add q x --dedup a=b=1m", 0},
		{"add q x --dedup a=b=1h --json", exit.Refused},
		{"add q x --unique only --expiry 1h", 0},
		{"add q y --unique only", exit.Refused},
		{"add q x --delay 1h --priority 255", 0},
		{"add q 5 6 --as int --group g", 0},
		{"add q /0E= --as base64 --codec bytes", 0},
	} {
		got := runHere(t, env, append([]string{"job"}, strings.Fields(c.args)...)...)
		require.Equal(t, c.code, got.code, "%s: %s", c.args, got.errors)
		isObject := c.code == exit.Refused && strings.Contains(c.args, "--json") // the answer, on standard output
		require.Equal(t, c.code > 0 && !isObject, got.errors != "", "%s: %s", c.args, got.errors)
		require.Equal(t, isObject || strings.HasPrefix(c.args, "add") && c.code == 0, got.out != "", "%s: %s", c.args, got.out)
	}
}

// TestALineIsAJob: all of them, in their order, with what they are.
func TestALineIsAJob(t *testing.T) {
	t.Parallel()
	server, name := redistest.Shared(t), redistest.Name(t) // an embedded one that is busy takes no thousand in the time of a request
	url := "redis://" + server.Addr()
	var lines []string
	for i := range 2500 {
		lines = append(lines, fmt.Sprint("line ", i))
	}
	lines[7] = ""
	lines[2499] = "-"
	var out, errors strings.Builder
	in := strings.NewReader(strings.Join(lines, "\n")) // the last one without an end
	require.Zero(t, cli.Run(t.Context(), []string{"job", "add", name, "-", "--redis", url, "--codec", "text"}, in, &out, &errors, nil), errors.String())
	ids := strings.Fields(out.String())
	require.Len(t, ids, len(lines))
	c, err := rueidisson.Open(url)
	require.NoError(t, err)
	t.Cleanup(func() { _ = c.Close(context.Background()) })
	q := reliable.New[string](c, name, reliable.WithCodec(codec.Text))
	for i, line := range lines {
		m, err := q.Poll(t.Context())
		require.NoError(t, err)
		require.Equal(t, line, m.Value)
		require.Equal(t, ids[i], fmt.Sprint(m.ID))
		require.NoError(t, m.Ack(t.Context()))
	}
	long := strings.NewReader(strings.Repeat("x", 2<<20+1))
	require.Equal(t, exit.Usage, cli.Run(t.Context(), []string{"job", "add", name, "-", "--redis", url}, long, &out, &errors, nil))
	long = strings.NewReader(strings.Repeat("x", 2<<20-1))
	require.Equal(t, exit.Usage, cli.Run(t.Context(), []string{"job", "add", name, "-", "--redis", url}, long, &out, &errors, nil))
}

// TestWhatAJobGets: the body as it is, and who it is.
func TestWhatAJobGets(t *testing.T) {
	t.Parallel()
	server := rueidissontest.NewServer(t)
	env := []string{envRedis + "=" + server.URL()}
	for _, c := range []struct{ add, body string }{
		{"hello", "hello"},
		{"120 --as int", "120"},
		{`{"a":[1,2]} --as json`, `{"a":[1,2]}`},
		{`{"a":[1,2]} --as json --codec json`, `{"a":[1,2]}`},
		{"/0E= --as base64", "\xffA"},
		{"aGk= --as base64 --codec bytes", "hi"},
		{"text --codec kryo5", "text"},
	} {
		args := strings.Fields(c.add)
		got := runHere(t, env, append([]string{"job", "add", "q", "--json"}, args...)...)
		require.Zero(t, got.code, got.errors)
		var added struct {
			Name string
			ID   int64
		}
		require.NoError(t, json.Unmarshal([]byte(got.out), &added))
		require.Equal(t, "q", added.Name)
		work := []string{"job", "work", "q", "--drain"}
		if i := strings.Index(c.add, "--codec"); i >= 0 {
			work = append(work, strings.Fields(c.add[i:])...)
		}
		work = append(work, "--", "sh", "-c", `cat; test "$RUEIDISSON_DELIVERY" -gt 1000000000000000; echo "$? $RUEIDISSON_JOB $RUEIDISSON_ATTEMPT $RUEIDISSON_REDIS $RUEIDISSON_LOCK"`)
		got = runHere(t, append(env, "RUEIDISSON_JOB=77", run.EnvLock+"=outer"), work...)
		require.Zero(t, got.code, got.errors)
		require.Equal(t, fmt.Sprintf("%s0 %d 1 %s outer\n", c.body, added.ID, server.URL()), got.out, c.add)
		require.Empty(t, got.errors)
	}
}

// TestAFailedJobIsTriedAgainAndBuried, with its exit code and its last words.
func TestAFailedJobIsTriedAgainAndBuried(t *testing.T) {
	t.Parallel()
	server := rueidissontest.NewServer(t)
	env := []string{envRedis + "=" + server.URL()}
	c := server.NewClient(t)
	q := reliable.New[string](c, "q")
	id, err := q.Add(t.Context(), "x")
	require.NoError(t, err)
	words := `echo looked >&2; echo "no such order" >&2; echo >&2; exit 3`
	got := runHere(t, env, "job", "work", "q", "--drain", "--attempts", "2", "--backoff", "0", "--", "sh", "-c", words)
	require.Equal(t, exit.Refused, got.code)
	require.Contains(t, got.errors, "rueidisson: 1 of the jobs of \"q\" failed for good: see rueidisson job dead\n")
	require.Equal(t, 2, strings.Count(got.errors, "looked\nno such order\n\n"), "without a pause it is there again at once")
	require.Contains(t, got.errors, fmt.Sprintf("rueidisson: job %d, attempt 1: retried: exit 3: no such order\n", id))
	require.Contains(t, got.errors, fmt.Sprintf("rueidisson: job %d, attempt 2: dead: exit 3: no such order\n", id))
	require.Equal(t, "2 exit 3: no such order", redisText(t, server, "HGET", "rueidisson_queue_error:{q}", fmt.Sprint(id)))

	_, err = q.Redrive(t.Context(), id)
	require.NoError(t, err)
	got = runHere(t, env, "job", "work", "q", "--drain", "--attempts", "2", "--backoff", "0", "--", "sh", "-c", words)
	require.Equal(t, exit.Refused, got.code)
	require.Contains(t, got.errors, "rueidisson: 1 of the jobs of \"q\" failed for good: see rueidisson job dead\n")
	require.Contains(t, got.errors, fmt.Sprintf("rueidisson: job %d, attempt 3: retried: exit 3: no such order\n", id))
	require.Contains(t, got.errors, fmt.Sprintf("rueidisson: job %d, attempt 4: dead: exit 3: no such order\n", id))

	require.Zero(t, runHere(t, env, "job", "terms", "q", "--attempts", "5", "--backoff", "1m").code)
	id, err = q.Add(t.Context(), "y")
	require.NoError(t, err)
	got = runHere(t, env, "job", "work", "q", "--drain", "--json", "--", "sh", "-c", "kill -9 $$")
	require.Zero(t, got.code)
	var told jobReportJSON
	require.NoError(t, json.Unmarshal([]byte(got.errors), &told))
	told.TookMS = 0
	require.Equal(t, jobReportJSON{ID: id, Attempt: 1, Outcome: "retried", Exit: 137, Error: "exit 137"}, told)
}

// TestDeadJobsAreWorkedOnAndDoneJobsAreFound, and queues listed.
func TestDeadJobsAreWorkedOnAndDoneJobsAreFound(t *testing.T) {
	t.Parallel()
	server := rueidissontest.NewServer(t)
	env := []string{envRedis + "=" + server.URL()}
	says := func(args ...string) string {
		t.Helper()
		got := runHere(t, env, append([]string{"job"}, args...)...)
		require.Zero(t, got.code, "%s: %s", args, got.errors)
		return got.out
	}
	require.Empty(t, says("queues"))
	says("terms", "q", "--attempts", "1", "--keep-done", "1h", "--in-flight", "4", "--group-in-flight", "2")
	require.Contains(t, says("terms", "q"), "in flight   4\nof a group  2\nkeep done   1h0m0s\n")
	require.Contains(t, says("terms", "q", "--json"), `"in_flight":4,"group_in_flight":2,"keep_done_ms":3600000}`)
	require.Contains(t, says("terms", "q", "--reset", "--attempts", "1", "--keep-done", "1h", "--json"), `"attempts":1,"dead_limit":10000,"dead_age_ms":2592000000,"lease_ms":30000,"group_in_flight":1,"keep_done_ms":3600000}`)
	require.Equal(t, "q\n", says("queues"))
	require.Equal(t, "{\"name\":\"q\"}\n", says("queues", "--json"))
	id := strings.TrimSpace(says("add", "q", "a"))
	for _, flags := range [][]string{nil, {"--dead"}} { // it fails for good, and stays dead
		args := slices.Concat([]string{"job", "work", "q", "--drain", "--fair"}, flags, []string{"--", "false"})
		require.Equal(t, exit.Refused, runHere(t, env, args...).code, args)
		require.Contains(t, says("dead", "q"), id)
	}
	redistest.Eventually(t, func() bool { return says("work", "q", "--dead", "--drain", "--", "cat") == "a" }, patience, 50*time.Millisecond)
	require.Equal(t, id+"\tdone\t2\ta\t\n", says("find", "q", id))
	require.Contains(t, says("find", "q", id, "--json"), `"done_ms":`)

	q := reliable.New[string](server.NewClient(t), "q")
	_, err := q.Add(t.Context(), "b")
	require.NoError(t, err)
	m, err := q.Poll(t.Context())
	require.NoError(t, err)
	require.NoError(t, m.SetProgress(t.Context(), map[string]int{"percent": 50}))
	require.Contains(t, says("find", "q", fmt.Sprint(m.ID)), "\t{\"percent\":50}\n")
	require.Contains(t, says("find", "q", fmt.Sprint(m.ID), "--json"), `"progress":{"percent":50}}`)
	require.NoError(t, m.Ack(t.Context()))
}

// TestTheLifeOfAQueue looks at jobs in each of their states.
func TestTheLifeOfAQueue(t *testing.T) {
	t.Parallel()
	server := rueidissontest.NewServer(t)
	env := []string{envRedis + "=" + server.URL()}
	says := func(code int, args string) string {
		t.Helper()
		got := runHere(t, env, append([]string{"job"}, strings.Fields(args)...)...)
		require.Equal(t, code, got.code, "%s: %s", args, got.errors)
		return got.out
	}
	stats := func() (s jobStatsJSON) {
		t.Helper()
		require.NoError(t, json.Unmarshal([]byte(says(0, "stats q --json")), &s))
		return s
	}
	require.Equal(t, jobStatsJSON{Name: "q"}, stats())
	require.Empty(t, says(0, "ls q"))
	for _, args := range []string{"redrive q", "purge q", "redrive q 7", "purge q 7"} {
		require.Equal(t, "0\n", says(exit.Refused, args))
	}

	ids := strings.Fields(says(0, "add q one two") + says(0, "add q later --delay 1h") +
		says(0, "add q --priority 3 --group g urgent") + says(0, "add q behind --group g"))
	c := server.NewClient(t)
	held, err := reliable.New[string](c, "q").Poll(t.Context())
	require.NoError(t, err)
	require.Equal(t, "urgent", held.Value)
	host, err := os.Hostname()
	require.NoError(t, err)
	me := fmt.Sprintf("%d@%s", os.Getpid(), host)
	s := stats()
	require.Positive(t, s.OldestMS+1)
	s.OldestMS = 0
	require.Equal(t, jobStatsJSON{Name: "q", Ready: 2, Due: 1, Behind: 1, Leased: 1, Added: 5}, s)
	require.Equal(t, ids[3]+"\tleased\t0\turgent\t\t"+me+"\n"+ids[0]+"\tready\t0\tone\t\n"+ids[1]+"\tready\t0\ttwo\t\n"+
		ids[4]+"\tbehind\t0\tbehind\t\n"+ids[2]+"\tdue\t0\tlater\t\n", says(0, "ls q"))
	require.Equal(t, ids[2]+"\tdue\t0\tlater\t\n", says(0, "ls q --state due"))
	leased := says(0, "ls q --state leased --json")
	require.Contains(t, leased, `"body":"urgent","attempts":0,`)
	require.Contains(t, leased, fmt.Sprintf(`"delivery":%d,"client":"`, held.Delivery))
	require.Contains(t, leased, fmt.Sprintf(`"pid":%d,`, os.Getpid()))
	require.Contains(t, says(0, "ls q --state behind --json"), `"group":"g","priority":0}`)
	require.Contains(t, says(0, "ls q --state due --json"), `"due_ms":`)
	require.NoError(t, held.Release(t.Context()))

	require.Equal(t, "q: paused for 10m0s\n", says(0, "pause q --for 10m"))
	require.Equal(t, "{\"name\":\"q\",\"paused\":true}\n", says(0, "pause q --json"))
	require.True(t, stats().Paused)
	got := runHere(t, env, "job", "work", "q", "--drain", "--", "cat")
	require.Zero(t, got.code)
	require.Empty(t, got.out)
	require.Equal(t, "rueidisson: q is paused\n", got.errors)
	require.Equal(t, "q: not paused\n", says(0, "resume q"))
	require.Equal(t, "urgentonetwobehind", says(0, "work q --drain -- cat"), "behind those that were ready when its turn came")

	ids = strings.Fields(says(0, "add q three four"))
	require.Empty(t, says(exit.Refused, "work q --drain --attempts 1 -- false"))
	require.Equal(t, ids[0]+"\tdead\t1\tthree\texit 1\n"+ids[1]+"\tdead\t1\tfour\texit 1\n", says(0, "dead q"))
	require.Contains(t, says(0, "dead q --json"), `"error":"exit 1",`)
	require.Equal(t, "1\n", says(0, "purge q "+ids[1]))
	require.Equal(t, "{\"name\":\"q\",\"redriven\":1}\n", says(0, "redrive q --json"))
	require.Equal(t, "three", says(0, "work q --drain -- cat"))
	require.Empty(t, says(0, "dead q"))

	s = stats()
	require.Equal(t, jobStatsJSON{Name: "q", Due: 1, Added: 7, Acked: 5}, s)
	require.Contains(t, says(0, "stats q"), "acked      5\n")
	require.Contains(t, says(0, "watch q --for 30ms --interval 20ms"), "  ready 0  due 1  behind 0  leased 0  dead 0  added +0  acked +0  retried +0  oldest 0s\n")
	require.Contains(t, says(0, "watch q --for 30ms --json"), `"name":"q","ready":0,"due":1,`)
}

// TestAJobIsALine, whatever its body and the cause of its end have in them.
func TestAJobIsALine(t *testing.T) {
	t.Parallel()
	server := rueidissontest.NewServer(t)
	env := []string{envRedis + "=" + server.URL()}
	body := "a\tb\n\x1b[2Jc"
	got := runHere(t, env, "job", "add", "q", body, "plain \u00e9")
	require.Zero(t, got.code, got.errors)
	ids := strings.Fields(got.out)
	quoted := `"a\tb\n\x1b[2Jc"`
	got = runHere(t, env, "job", "ls", "q")
	require.Equal(t, ids[0]+"\tready\t0\t"+quoted+"\t\n"+ids[1]+"\tready\t0\tplain \u00e9\t\n", got.out)
	got = runHere(t, env, "job", "work", "q", "--drain", "--attempts", "1", "--", "sh", "-c", `printf 'no\033[31m\tpaper' >&2; exit 3`)
	require.Equal(t, exit.Refused, got.code, got.errors)
	got = runHere(t, env, "job", "dead", "q")
	cause := `"exit 3: no\x1b[31m\tpaper"`
	require.Equal(t, ids[0]+"\tdead\t1\t"+quoted+"\t"+cause+"\n"+ids[1]+"\tdead\t1\tplain \u00e9\t"+cause+"\n", got.out)
}

// TestTermsOfAQueueAreKeptAndChanged: a worker with others does nothing.
func TestTermsOfAQueueAreKeptAndChanged(t *testing.T) {
	t.Parallel()
	server := rueidissontest.NewServer(t)
	env := []string{envRedis + "=" + server.URL()}
	job := func(args string) said { return runHere(t, env, append([]string{"job"}, strings.Fields(args)...)...) }
	require.Equal(t, "attempts    10\nbackoff     1s, doubled, at most 10m0s\ndead limit  10000\ndead age    720h0m0s\nlease       30s\n", job("terms q").out)
	require.Zero(t, job("work q --drain --attempts 3 --backoff 1m -- true").code)
	job("add q x")
	got := job("work q --drain --attempts 2 -- cat")
	require.Equal(t, exit.Usage, got.code)
	require.Contains(t, got.errors, "attempts: 3, and not 2")
	require.Empty(t, got.out)
	require.Equal(t, "attempts    2\nbackoff     1m0s, 2m0s, 4m0s, 8m0s, 10m0s\ndead limit  7\ndead age    720h0m0s\nlease       1m0s\n",
		job("terms q --attempts 2 --dead-limit 7 --lease 1m").out)
	require.Equal(t, `{"name":"q","attempts":2,"backoff_ms":[60000,120000,240000,480000,600000],"dead_limit":7,"dead_age_ms":3600000,"lease_ms":60000}`+"\n",
		job("terms q --dead-age 1h --json").out)
	require.Equal(t, "x", job("work q --drain --attempts 2 -- cat").out)
}

// TestOneJobIsFoundChangedAndTakenOut by its id.
func TestOneJobIsFoundChangedAndTakenOut(t *testing.T) {
	t.Parallel()
	server := rueidissontest.NewServer(t)
	env := []string{envRedis + "=" + server.URL()}
	says := func(code int, args string) string {
		t.Helper()
		got := runHere(t, env, append([]string{"job"}, strings.Fields(args)...)...)
		require.Equal(t, code, got.code, "%s: %s", args, got.errors)
		return got.out
	}
	ids := strings.Fields(says(0, "add q one two three four"))
	require.Equal(t, ids[1]+"\n", says(0, "reschedule q "+ids[1]+" --delay 1h"))
	require.Equal(t, ids[1]+"\tdue\t0\ttwo\t\n", says(0, "find q "+ids[1]))
	require.Contains(t, says(0, "find q "+ids[1]+" --json"), `"due_ms":`)
	require.Equal(t, `{"name":"q","id":`+ids[1]+"}\n", says(0, "reschedule q "+ids[1]+" --now --priority 7 --json"))
	c := server.NewClient(t)
	q := reliable.New[string](c, "q")
	m, err := q.Poll(t.Context())
	require.NoError(t, err)
	require.Equal(t, "two", m.Value)
	says(exit.Refused, "reschedule q "+ids[1]+" --delay 1h")
	require.Equal(t, "0\n", says(exit.Refused, "rm q "+ids[1]))
	says(exit.Refused, "result q "+ids[1])
	says(exit.NotAcquired, "result q "+ids[1]+" --wait 1ms")
	require.NoError(t, m.AckWith(t.Context(), []byte("twice"), time.Hour))
	require.Equal(t, "twice\n", says(0, "result q "+ids[1]+" --wait 1m"))
	require.Equal(t, `{"name":"q","id":`+ids[1]+`,"result":"twice"}`+"\n", says(0, "result q "+ids[1]+" --json"))
	m, err = q.Poll(t.Context())
	require.NoError(t, err)
	require.Equal(t, "{\"name\":\"q\",\"cancelled\":2}\n", says(0, "cancel q "+ids[0]+" "+ids[2]+" 7 --json"))
	require.ErrorIs(t, m.Ack(t.Context()), reliable.ErrLost)
	require.Equal(t, "1\n", says(0, "rm q "+ids[3]+" "+ids[0]))
	require.Equal(t, "0\n", says(exit.Refused, "cancel q "+ids[0]))
	require.Empty(t, says(0, "ls q"))
}

// TestABodyOfAnotherCodecIsBuried, and no CMD sees it.
func TestABodyOfAnotherCodecIsBuried(t *testing.T) {
	t.Parallel()
	server := rueidissontest.NewServer(t)
	env := []string{envRedis + "=" + server.URL()}
	for _, body := range []string{"\xc1", "ok"} {
		f := codec.Msgpack
		if body != "ok" {
			f = codec.Bytes
		}
		_, err := reliable.New[string](server.NewClient(t), "q", reliable.WithCodec(f)).Add(t.Context(), body)
		require.NoError(t, err)
	}
	got := runHere(t, env, "job", "work", "q", "--drain", "--attempts", "1", "--", "cat")
	require.Equal(t, exit.Refused, got.code, got.errors)
	require.Equal(t, "ok", got.out)
	require.Equal(t, "1", redisText(t, server, "ZCARD", "rueidisson_queue_dead:{q}"))
	got = runHere(t, env, "job", "dead", "q", "--json")
	require.Contains(t, got.out, `"body":"wQ==","base64":true,"attempts":1,"error":"`)
}

// redisText is what a server says to a command.
func redisText(t *testing.T, s *rueidissontest.Server, words ...string) string {
	t.Helper()
	c, err := rueidis.NewClient(s.ClientOption())
	require.NoError(t, err)
	defer c.Close()
	m, err := c.Do(t.Context(), c.B().Arbitrary(words...).Build()).ToMessage()
	require.NoError(t, err)
	if n, err := m.AsInt64(); err == nil {
		return fmt.Sprint(n)
	}
	text, err := m.ToString()
	require.NoError(t, err)
	return text
}
