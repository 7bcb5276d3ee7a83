package chaos

import (
	"crypto/sha1"
	"encoding/hex"
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/redis/rueidis"
	"github.com/stretchr/testify/require"

	"github.com/rueidisson/rueidisson/internal/page"
	"github.com/rueidisson/rueidisson/internal/redistest"
)

// mutant is a script without one of its lines.
type mutant struct {
	script  string // path
	line    string // without spaces around it
	number  int    // of the line in the script as it is sent
	body    string
	changed string
}

func (m mutant) String() string {
	return fmt.Sprintf("%s, line %d as sent: %s", m.script, m.number, m.line)
}

// mutantsOf returns a mutant for each line of a script that is no comment.
func mutantsOf(script, body string) (all []mutant) {
	lines := strings.SplitAfter(body, "\n")
	for i, line := range lines {
		text := strings.TrimSpace(line)
		if text == "" || strings.HasPrefix(text, "--") {
			continue
		}
		rest := strings.Join(slices.Delete(slices.Clone(lines), i, i+1), "")
		all = append(all, mutant{script, text, i + 1, body, rest})
	}
	return all
}

func TestAMutantLacksOneLine(t *testing.T) {
	t.Parallel()
	all := mutantsOf("a.lua", "-- a.lua: a script.\n\nlocal n = 1\n\t-- a comment\n\treturn n\n")
	require.Len(t, all, 2)
	require.Equal(t, "a.lua, line 3 as sent: local n = 1", all[0].String())
	require.Equal(t, "-- a.lua: a script.\n\n\t-- a comment\n\treturn n\n", all[0].changed)
	require.Equal(t, "return n", all[1].line)
}

// mutation is what came of a mutant.
type mutation struct {
	mutant
	object  string
	nemesis string // of the round that found it, or of the last one
	found   string // a violation; "": it survived
}

func (m mutation) String() string {
	if m.found == "" {
		return fmt.Sprintf("survived with %s: %v", m.object, m.mutant)
	}
	said, _, _ := strings.Cut(m.found, "\n")
	return fmt.Sprintf("found with %s under %s: %v: %s", m.object, m.nemesis, m.mutant, said)
}

// mutantPatience is how long a name may take to be free when the faults of a mutant's round are over. Rounds without a mutant have
// the same, and pass.
const mutantPatience = 6 * time.Second

// mutantsEnd leaves the last mutant of a run time to end.
const mutantsEnd = 20 * time.Second

// mutates removes lines of scripts that rounds use, one at a time, until an oracle finds something, or has nothing to say in
// a round of each group of nemeses. It prints the share that was found, and the survivors.
func mutates(t *testing.T) {
	t.Helper()
	seed := seedOf(t)
	var mu sync.Mutex
	var all []mutation
	drawn := map[string]bool{}
	began := time.Now()
	t.Run("lanes", func(t *testing.T) {
		for lane := range lanes {
			t.Run(fmt.Sprint(lane), func(t *testing.T) {
				t.Parallel()
				rnd := rand.New(rand.NewPCG(seed, uint64(100+lane)))
				a := newArena(t, "8.0")
				a.patience = mutantPatience
				a.knows(t)
				some, users := a.drawable(t, lane, rnd)
				for _, m := range some {
					mu.Lock()
					full := len(all) >= *mutated || *total > 0 && time.Since(began) > *total-mutantsEnd
					again := drawn[m.String()]
					drawn[m.String()] = true
					mu.Unlock()
					if full {
						return
					}
					if again || !a.compiles(m) {
						continue
					}
					came, called := a.mutated(m, users[m.script], rnd)
					if !called { // by these rounds
						t.Log("not called: ", m)
						continue
					}
					t.Log(came)
					mu.Lock()
					all = append(all, came)
					mu.Unlock()
				}
			})
		}
	})
	text := mutations(all, seed)
	t.Log(text)
	if *pagePath != "" {
		require.NoError(t, page.Write(*pagePath, "mutants", text))
	}
	require.NotEmpty(t, all, "no line was removed")
}

// knows has the proxies know the text of each script, so that they can exchange it for another one.
func (a *arena) knows(t *testing.T) {
	t.Helper()
	p := redistest.NewProxy(t, a.server.Addr())
	c := a.server.Client(t, func(o *rueidis.ClientOption) { o.InitAddress = []string{p.Addr()} })
	for _, body := range texts(t) {
		require.NoError(t, c.Do(t.Context(), c.B().ScriptLoad().Script(body).Build()).Error())
	}
}

// drawable runs a round of each of the lane's objects under each group of nemeses, without a mutant. It returns, in any order, the
// mutants of the scripts that were called, and the object that called each script most often.
func (a *arena) drawable(t *testing.T, lane int, rnd *rand.Rand) (all []mutant, users map[string]object) {
	t.Helper()
	bodies, paths := texts(t), map[string]string{}
	for path, body := range bodies {
		sum := sha1.Sum([]byte(body))
		paths[hex.EncodeToString(sum[:])] = path
	}
	users = map[string]object{}
	called, most := map[string]int{}, map[string]int{}
	a.sees = func(cmd []string) {
		if len(cmd) > 1 && strings.EqualFold(cmd[0], "EVALSHA") {
			called[paths[cmd[1]]]++
		}
	}
	defer func() { a.sees = nil }()
	for i, name := range left(objectNames) {
		if i%lanes != lane {
			continue
		}
		o := objects[indexOf(name)]
		clear(called)
		for _, n := range a.aimed(o, rnd, false) {
			a.judged(t, o, n, short, rnd.Uint64())
		}
		delete(called, "")
		for path, n := range called { // clients complete a little of what the objects before have left
			if n > most[path] {
				users[path], most[path] = o, n
			}
		}
	}
	for _, path := range slices.Sorted(maps.Keys(users)) {
		for _, m := range mutantsOf(path, bodies[path]) {
			if !slices.ContainsFunc(survivors, func(s survivor) bool { return s.is(m) }) {
				all = append(all, m)
			}
		}
	}
	rnd.Shuffle(len(all), func(i, j int) { all[i], all[j] = all[j], all[i] })
	return all, users
}

// compiles reports whether the server takes the script.
func (a *arena) compiles(m mutant) bool {
	return a.raw.Do(a.t.Context(), a.raw.B().ScriptLoad().Script(m.changed).Build()).Error() == nil
}

// mutated runs rounds of an object while the proxies exchange the script for the mutant, until one has a violation. It reports whether
// the mutant was called.
func (a *arena) mutated(m mutant, o object, rnd *rand.Rand) (came mutation, called bool) {
	var exchanges []*redistest.Exchange
	for _, p := range append([]*redistest.Proxy{a.store}, a.proxies...) {
		exchanges = append(exchanges, p.Exchange(m.body, m.changed))
	}
	came = mutation{mutant: m, object: o.name}
	for _, n := range a.aimed(o, rnd, false) {
		came.nemesis = n.name
		if v := a.round(o, n, short, rnd.Uint64()); len(v.violations) > 0 {
			came.found = v.violations[0]
			break
		}
	}
	for _, x := range exchanges {
		n, _ := x.Calls() // the text of a whole script stands in one place
		called = called || n > 0
		x.Cancel()
	}
	return came, called
}

// mutations is the part of the page about mutants.
func mutations(all []mutation, seed uint64) string {
	found := 0
	rows := table("Script", "line that nothing missed")
	for _, m := range all {
		if m.found != "" {
			found++
			continue
		}
		rows += row("`"+m.script+"`", "`"+strings.ReplaceAll(m.line, "|", `\|`)+"`")
	}
	text := fmt.Sprintf("%d of %d removed lines were found (%d %%), on %s, with seed %d.\n", found, len(all), found*100/max(len(all), 1), time.Now().UTC().Format("2 January 2006"), seed)
	if found < len(all) {
		text += "\n" + rows
	}
	return text
}

func TestMutationsAreTold(t *testing.T) {
	t.Parallel()
	m := mutantsOf("a.lua", "local n = 'a|b'\nreturn n\n")
	text := mutations([]mutation{{mutant: m[0], object: "lock"}, {mutant: m[1], object: "lock", nemesis: "cut", found: "two\nlines"}}, 7)
	require.Contains(t, text, "1 of 2 removed lines were found (50 %)")
	require.Contains(t, text, "| `a.lua` | `local n = 'a\\|b'` |\n")
	require.NotContains(t, text, "return n")
	require.Equal(t, "found with lock under cut: a.lua, line 2 as sent: return n: two", mutation{mutant: m[1], object: "lock", nemesis: "cut", found: "two\nlines"}.String())
	require.NotContains(t, mutations(nil, 7), "|")
}
