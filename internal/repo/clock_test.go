package repo

import (
	"go/ast"
	"go/parser"
	"go/token"
	"os"
	"os/exec"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

var (
	// elapsed matches an argument that says how long something took.
	elapsed = regexp.MustCompile(`^(time\.Since\([\w.]+\)|([\w.]+\.)?at\.Sub\([\w.]+\))$`)
	// upper matches an assertion of at most that.
	upper = regexp.MustCompile(`^(require|assert)\.(Less|Lessf|LessOrEqual|LessOrEqualf|WithinDuration|InDelta)$`)
)

// judgedElsewhere are files whose assertions on elapsed time are no business of redistest.Within, with the reason.
var judgedElsewhere = map[string]string{
	"internal/poller/poller_test.go":     "runs on the fake clock of synctest, by a helper of its own",
	"internal/handover/courtesy_test.go": "runs on the fake clock of synctest, by a helper of its own",
	"internal/redistest/proxy_test.go":   "compares a delay with itself, as often as there are commands",
}

// TestElapsedTimeIsAssertedOnlyUnderAMetronome: on a machine that stands still, any other such assertion is a matter of
// luck. redistest.Within repeats a round in which the process stood still. Lower bounds, and tests on a fake clock, are
// right on every machine.
func TestElapsedTimeIsAssertedOnlyUnderAMetronome(t *testing.T) {
	t.Parallel()
	out, err := exec.Command("git", "ls-files", "*_test.go").Output()
	if err != nil {
		t.Skip("this is no checkout: ", err)
	}
	files := strings.Fields(string(out))
	require.NotEmpty(t, files)
	for _, file := range files {
		src, err := os.ReadFile(file)
		if os.IsNotExist(err) {
			continue // removed, and not committed
		}
		require.NoError(t, err)
		if _, other := judgedElsewhere[file]; other || strings.Contains(string(src), `"testing/synctest"`) {
			continue
		}
		for _, at := range timedAssertions(t, file, src) {
			assert.Fail(t, at+": use redistest.Within")
		}
	}
}

// timedAssertions returns where a file asserts an upper bound of elapsed time.
func timedAssertions(t *testing.T, file string, src []byte) (all []string) {
	t.Helper()
	set := token.NewFileSet()
	f, err := parser.ParseFile(set, file, src, 0)
	require.NoError(t, err)
	text := func(n ast.Node) string { return string(src[set.Position(n.Pos()).Offset:set.Position(n.End()).Offset]) }
	ast.Inspect(f, func(n ast.Node) bool {
		call, ok := n.(*ast.CallExpr)
		if ok && len(call.Args) > 2 && upper.MatchString(text(call.Fun)) && elapsed.MatchString(text(call.Args[1])) {
			all = append(all, set.Position(n.Pos()).String())
		}
		return true
	})
	return all
}

func TestTimedAssertionsAreFound(t *testing.T) {
	t.Parallel()
	const src = `package p
func f() {
	require.Less(t, time.Since(began), time.Second)
	assert.LessOrEqual(t, r.at.Sub(began), limit, "why")
	require.GreaterOrEqual(t, time.Since(began), time.Second)
	require.LessOrEqual(t, calls, 1+int(time.Since(began)/time.Second))
}`
	require.Equal(t, []string{"p.go:3:2", "p.go:4:2"}, timedAssertions(t, "p.go", []byte(src)))
}
