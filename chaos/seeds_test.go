package chaos

import (
	"context"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/rueidisson/rueidisson/internal/redistest"
)

// seed is a defect that is put into the library, and the round in which it has to be found: into a script, by the proxies, or into a
// file of Go, by a compiler that is given another file.
type seed struct {
	name            string
	file            string // of Go; "": the old text is one of a script
	old, new        string // an exact replacement, in one place
	object, nemesis string
	says            string // what the oracle says that has to find it
}

var seeds = []seed{
	{
		name: "a release deletes the hash, whichever owner holds it",
		old:  "redis.call('hdel', KEYS[1], ARGV[1]) == 0", new: "redis.call('del', KEYS[1]) == 0",
		object: "lock", nemesis: "late-requests", says: "two or more trust",
	},
	{
		name: "a token does not rise",
		old:  "local last = math.max(was, time[1] * 1000000 + time[2] - 1, tonumber(seen) or 0) + n", new: "local last = tonumber(n)",
		object: "fenced", nemesis: "killed", says: "a token does not rise",
	},
	{
		name: "a guard accepts smaller tokens",
		old:  "if less(ARGV[2], highest) or", new: "if false and",
		object: "fenced", nemesis: "stopped", says: "order of tokens",
	},
	{
		name: "a Compute writes whatever is there",
		old:  "if ARGV[3] == '1' and there ~= ARGV[4] or ARGV[3] == '0' and there or ARGV[3] == '2' then", new: "if ARGV[3] == '2' then",
		object: "compute", nemesis: "cut", says: "two functions",
	},
	{
		name: "an Update writes whatever is there",
		old:  "if ARGV[1] == '1' and there ~= ARGV[2] or ARGV[1] == '0' and there or ARGV[1] == '2' then", new: "if ARGV[1] == '2' then",
		object: "update", nemesis: "cut", says: "two functions",
	},
	{
		name: "a grant takes half a token",
		old:  "q = q + k * cost", new: "q = q + k * cost / 2",
		object: "limiter", nemesis: "cut", says: "grants in",
	},
	{
		name: "a give that is sent again gives again",
		old:  "if known then\n\treturn known < 0 and {-1} or {0, known}", new: "if false then\n\treturn {-1}",
		object: "semaphore", nemesis: "lost-replies", says: "permits are free",
	},
	{
		name: "a release of a permit counts each time",
		old:  "elseif held == 0 then\n\treturn -1", new: "elseif held == 2 then\n\treturn -1",
		object: "permits", nemesis: "lost-replies", says: "permits are free",
	},
	{
		name: "a poll of a bounded queue frees a slot too many",
		old:  "redis.call('incrby', KEYS[2], #got)", new: "redis.call('incrby', KEYS[2], #got + 1)",
		object: "bounded", nemesis: "cut", says: "free slots",
	},
	{
		name: "a count down that is sent again counts again",
		old:  "if answer then\n\treturn answer\nend\n-- First a write", new: "if false then\n\treturn answer\nend\n-- First a write",
		object: "latch", nemesis: "lost-replies", says: "left, expected",
	},
	{
		name: "an add that is sent again adds again",
		old:  "if n == ARGV[1] then\n\tif said == 'void'", new: "if n == 'none' then\n\tif said == 'void'",
		object: "counted", nemesis: "lost-replies", says: "the number is",
	},
	{
		name: "the next block begins at the end of this one",
		old:  "return {next_id, n, size}", new: "return {next_id, string.format('%.0f', n + 1), size}",
		object: "ids", nemesis: "cut", says: "have the id",
	},
	{
		name: "a filter lacks the last bit of a value",
		old:  "for i = 4, #ARGV do\n\twords[n + 1], words[n + 2], words[n + 3], words[n + 4]", new: "for i = 4, #ARGV - 1 do\n\twords[n + 1], words[n + 2], words[n + 3], words[n + 4]",
		object: "bloom", nemesis: "cut", says: "is not found",
	},
	{
		name: "a message does not wait for its group",
		old:  "if redis.call('hsetnx', head, group, id) == 1 or", new: "if true or",
		object: "jobs", nemesis: "cut", says: "two or more trust",
	},
	{
		name: "a cancelled message was with no consumer",
		old:  "return taken and '2' or '1'", new: "return '1'",
		object: "transfer", nemesis: "cut", says: "was with a consumer",
	},
	{
		name: "a move takes elements that are not due",
		old:  "redis.call('zrangebyscore', KEYS[5], '-inf', ARGV[1],", new: "redis.call('zrangebyscore', KEYS[5], '-inf', '+inf',",
		object: "delayed", nemesis: "cut", says: "before it was due",
	},
	{
		name: "the last party has the number of the one before",
		old:  "return {tonumber(gen), 1, n, -1}", new: "return {tonumber(gen), 1, n - 1, -1}",
		object: "barrier", nemesis: "cut", says: "was given",
	},
	{
		name: "a topic counts too few messages that it drops",
		old:  "redis.call('hincrby', KEYS[3], group.name, group.missed)", new: "redis.call('hincrby', KEYS[3], group.name, group.missed - 1)",
		object: "durable-topic", nemesis: "cut", says: "were not heard",
	},
	{
		name:   "trust counts from the answer, and not from the send",
		file:   "internal/send/run.go",
		old:    "return Answer{RedisMessage: msg, Started: started, Replayed: losses > 0, Nil: err != nil}, nil",
		new:    "return Answer{RedisMessage: msg, Started: s.Now(), Replayed: losses > 0, Nil: err != nil}, nil",
		object: "lock", nemesis: "late-replies-then-silence", says: "that the server has given away",
	},
	{
		name: "the lease of a group counts from the last send",
		file: "multilock/groupproto.go",
		old:  "tried.Started = began", new: "_ = began",
		object: "group", nemesis: "no-replicas", says: "two or more trust",
	},
	{
		name: "a waiter inherits the refusal of a larger one",
		file: "semaphore/wait.go",
		old:  "if w.n < w.p.least {", new: "if false && w.n < w.p.least {",
		object: "sizes", nemesis: "none", says: "while enough is free",
	},
}

// places returns how often the old text stands in the file, or in the script in which it stands most often.
func (s seed) places(t testing.TB) (most int) {
	t.Helper()
	if s.file != "" {
		text, err := os.ReadFile(filepath.Join("..", s.file))
		require.NoError(t, err)
		return strings.Count(string(text), s.old)
	}
	for _, body := range texts(t) {
		most = max(most, strings.Count(body, s.old))
	}
	return most
}

// TestSeedsStandInOnePlace: each replacement is one, in the file or in a script.
func TestSeedsStandInOnePlace(t *testing.T) {
	t.Parallel()
	for _, s := range seeds {
		require.Equal(t, 1, s.places(t), "%s: %q", s.name, s.old)
		require.GreaterOrEqual(t, indexOf(s.object), 0, s.object)
		require.NotEmpty(t, named(s.nemesis).name)
	}
}

// compile makes a binary of this package with the seed in the library. It returns an error unless the old text stands in one place.
func (s seed) compile(ctx context.Context, dir string) (binary string, err error) {
	path, err := filepath.Abs(filepath.Join("..", filepath.FromSlash(s.file)))
	if err != nil {
		return "", err
	}
	text, err := os.ReadFile(path)
	if err != nil {
		return "", err
	}
	if n := strings.Count(string(text), s.old); n != 1 {
		return "", fmt.Errorf("%s contains %q %d times, expected once", s.file, s.old, n)
	}
	changed, overlay, binary := filepath.Join(dir, "changed.go"), filepath.Join(dir, "overlay.json"), filepath.Join(dir, "chaos.test")
	if err := os.WriteFile(changed, []byte(strings.Replace(string(text), s.old, s.new, 1)), 0o600); err != nil {
		return "", err
	}
	replaced, err := json.Marshal(map[string]map[string]string{"Replace": {path: changed}})
	if err != nil {
		return "", err
	}
	if err := os.WriteFile(overlay, replaced, 0o600); err != nil {
		return "", err
	}
	if out, err := exec.CommandContext(ctx, "go", "test", "-c", "-vet=off", "-overlay", overlay, "-o", binary, ".").CombinedOutput(); err != nil {
		return "", fmt.Errorf("%w: %s", err, out)
	}
	return binary, nil
}

// TestASeedHasToBeInOnePlace: a replacement that would do nothing, or too much, is none.
func TestASeedHasToBeInOnePlace(t *testing.T) {
	t.Parallel()
	for old, times := range map[string]string{"no such text": "0 times", "err": "times, expected once"} {
		_, err := seed{file: "internal/send/run.go", old: old}.compile(t.Context(), t.TempDir())
		require.ErrorContains(t, err, times)
	}
}

// seedWithin is for how long rounds are run to find a seed.
const seedWithin = 40 * time.Second

// TestSeedsAreFound: the oracles find each seed within 20 s of its nemesis. A short run has those of scripts, for which nothing has to
// be compiled.
func TestSeedsAreFound(t *testing.T) {
	switch {
	case *mutated > 0 || *repeated > 0:
		t.Skip("-mutants, -round: no seeds")
	case *total == 0:
		t.Parallel() // else it comes before the storm, whose page tells of it
	}
	some := slices.DeleteFunc(slices.Clone(seeds), func(s seed) bool {
		return s.file != "" && *total == 0 || !chosen(s.object, objectNames) || !chosen(s.nemesis, nemesisNames)
	})
	binaries := make([]string, len(some))
	for i, s := range some {
		if s.file != "" { // one after the other: the compiler takes all processors
			binary, err := s.compile(t.Context(), t.TempDir())
			require.NoError(t, err, s.name)
			binaries[i] = binary
		}
	}
	for lane := range lanes {
		t.Run(fmt.Sprint("lane ", lane), func(t *testing.T) {
			t.Parallel()
			a := newArena(t, "8.0")
			rnd := rand.New(rand.NewPCG(seedOf(t), 9))
			for i, s := range some {
				switch {
				case i%lanes != lane:
				case s.file == "":
					a.exchanges(t, s, rnd)
				default:
					t.Run(s.name, func(t *testing.T) {
						newArenaOn(t, topologies[0], "8.0", binaries[i]).finds(t, s, rnd, min(redistest.Scaled(long), 3*long))
					})
				}
			}
		})
	}
}

// exchanges has the proxies exchange the script, and runs rounds until an oracle finds it.
func (a *arena) exchanges(t *testing.T, s seed, rnd *rand.Rand) {
	t.Helper()
	a.server.FlushScripts() // so that the proxies see the bodies
	var exchanges []*redistest.Exchange
	for _, p := range append([]*redistest.Proxy{a.store}, a.proxies...) {
		exchanges = append(exchanges, p.Exchange(s.old, s.new))
	}
	a.finds(t, s, rnd, short)
	all := 0
	for _, x := range exchanges {
		n, err := x.Calls()
		require.NoError(t, err)
		all += n
		x.Cancel()
	}
	require.Positive(t, all, "no script contains %q", s.old)
}

// seedPatience is how long a name may take to be right again after a round with a seed: most seeds never let it be.
const seedPatience = 2 * time.Second

// finds runs rounds of a seed until an oracle finds it.
func (a *arena) finds(t *testing.T, s seed, rnd *rand.Rand, d time.Duration) {
	t.Helper()
	a.patience = seedPatience
	ctx, cancel := context.WithTimeout(t.Context(), redistest.Scaled(seedWithin))
	defer cancel()
	began := time.Now()
	for {
		require.NoError(t, ctx.Err(), "no oracle has found it: %s", s.name)
		v := a.round(objects[indexOf(s.object)], named(s.nemesis), d, rnd.Uint64())
		all := slices.Concat(v.violations, v.doubted) // on a busy machine, too, the oracle has found it
		if i := slices.IndexFunc(all, func(x string) bool { return strings.Contains(x, s.says) }); i >= 0 {
			shown.found(s.name, time.Since(began))
			t.Logf("%s: found after %v, with %d chances: %s", s.name, time.Since(began).Round(time.Millisecond), v.chances, all[i])
			return
		}
	}
}
