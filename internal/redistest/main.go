package redistest

import (
	"context"
	"flag"
	"fmt"
	"log/slog"
	"os"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/rueidisson/rueidisson/internal/pace"
)

// shared is the one piece of process-wide state: the servers that live as long as the test process does.
var shared struct {
	sync.Mutex
	ready   bool // Main runs, and will stop what is started
	servers map[string]*process
	dirs    []string
}

// Main runs the tests of a package, many parallel ones at once since they mostly wait, stops the shared servers, fails if
// goroutines are left over, and exits. In a process that [StartChild] started it runs the named child instead.
func Main(m *testing.M, children ...Children) {
	runChild(children)
	_ = os.Setenv(pace.Variable, fmt.Sprint(pace.Factor())) // children of the tests do not measure again
	runBeside()
	slog.SetDefault(slog.New(slog.DiscardHandler)) // clients without a logger write there
	shared.Lock()
	shared.ready = true
	shared.servers = map[string]*process{}
	shared.Unlock()
	code := m.Run()
	stopShared()
	if code == 0 {
		code = leaks()
	}
	os.Exit(code)
}

// runBeside sets how many parallel tests run at once, unless -parallel says it. In a soak they compute, and more of them
// than processors would starve each other.
func runBeside() {
	flag.Parse()
	if !parallelSaid() && !Soaking() {
		_ = flag.Set(parallel, strconv.Itoa(max(pace.Tests(), runtime.GOMAXPROCS(0)))) // fails only for what is no number
	}
}

const parallel = "test.parallel"

// parallelSaid asks for what is in the arguments: Set makes a flag look as if it had been said.
func parallelSaid() bool {
	return slices.ContainsFunc(os.Args[1:], func(arg string) bool { return strings.HasPrefix(strings.TrimLeft(arg, "-"), parallel) })
}

// leakPatience is for goroutines that end by themselves: rueidis' cluster client leaves one that sleeps for a second.
var leakPatience = Scaled(5 * time.Second)

func leaks() int {
	ctx, cancel := context.WithTimeout(context.Background(), leakPatience)
	defer cancel()
	if err := poll(ctx, func() error { return goleak.Find() }); err != nil {
		fmt.Fprintf(os.Stderr, "redistest: goroutines were left over: %v\n", err)
		return 1
	}
	return 0
}

// Shared returns the server that all tests of this process share: it is started by the first one, is never flushed, and
// cannot be killed or paused. Tests keep apart by [Name]. Of the options only [Version] and [JSON] have a meaning here: a
// server with the module is another one. The package's TestMain must call [Main].
func Shared(t testing.TB, opts ...Option) *Server {
	t.Helper()
	o := resolve(opts)
	if len(o.settings) != len(resolve(nil).settings) {
		t.Fatal("redistest: the shared server takes no Config: use Start")
	}
	binary := o.need(t, o.version)
	p, err := sharedProcess(o, binary)
	if err != nil {
		t.Fatal(err)
	}
	return &Server{t: t, process: p, shared: true}
}

func sharedProcess(o options, binary string) (*process, error) {
	shared.Lock()
	defer shared.Unlock()
	if !shared.ready {
		return nil, fmt.Errorf("redistest: a shared server needs a TestMain that calls redistest.Main")
	}
	kind := o.version
	if o.json {
		kind += " with JSON"
	}
	if p := shared.servers[kind]; p != nil {
		return p, nil
	}
	dir, err := os.MkdirTemp("", "redistest")
	if err != nil {
		return nil, err
	}
	shared.dirs = append(shared.dirs, dir)
	p, err := launch(binary, dir, func(port int) ([]setting, error) { return o.lines(dir, port) })
	if err != nil {
		return nil, err
	}
	shared.servers[kind] = p
	return p, nil
}

func stopShared() {
	shared.Lock()
	defer shared.Unlock()
	shared.ready = false
	for _, p := range shared.servers {
		p.kill()
	}
	for _, dir := range shared.dirs {
		os.RemoveAll(dir)
	}
}
