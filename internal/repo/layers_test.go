package repo

import (
	"encoding/json"
	"errors"
	"fmt"
	"go/parser"
	"go/token"
	"io"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

const module = "github.com/rueidisson/rueidisson"

// layer is where a package stands. Arrows point down: programs use the root,
// the root uses the objects, and the objects use the internal packages.
type layer int

const (
	program  layer = iota // what one runs
	cli                   // the command line: the tree of its commands
	commands              // the commands of one kind of object for each package
	cliFloor              // what commands are made of, in the order of cliFloors
	harness               // for users' tests: a client on a server in the process, which knows the wire format
	root                  // the client
	adapter               // what builds on the root, each for one library that the root does not link
	object                // one kind of object for each package
	base                  // below the objects, public or what the command line reads, too: no package of ours under it
	shared                // internal packages on the floors that several objects are made of
	locking               // acquisitions, hand-over and holds; it puts the engine together
	wait                  // what a client hears, and waits for
	lease                 // what a client keeps alive
	sending               // one exchange with a server
	core                  // settings, outcomes, goroutines, observers
	part                  // the other internal packages: each on its own
	testHelp              // internal packages that only tests, programs and each other use
)

// layers says where packages stand that are not objects: a folder that is not
// listed holds an object. The longest match counts.
var layers = map[string]layer{
	"":                      root,
	"bench":                 program,
	"cmd":                   program,
	"examples":              program,
	"interop":               program,
	"chaos":                 program,
	"rueidissontest":        harness,
	"otel":                  adapter,
	"ratelimiter/httplimit": adapter,
	"ratelimiter/grpclimit": adapter,

	"ratelimiter/internal/admission": adapter, // what both are made of
	"codec":                          base,
	"fence":                          base,
	"fence/fencehttp":                adapter,
	"internal":                       part,
	"internal/cli":                   cli,
	"internal/cli/collections":       commands,
	"internal/cli/completion":        commands,
	"internal/cli/jobs":              commands,
	"internal/cli/limits":            commands,
	"internal/cli/locks":             commands,
	"internal/cli/manual":            commands,
	"internal/cli/maps":              commands,
	"internal/cli/queues":            commands,
	"internal/cli/synchronizers":     commands,
	"internal/cli/topics":            commands,
	"internal/cli/exit":              cliFloor,
	"internal/cli/values":            cliFloor,
	"internal/cli/usage":             cliFloor,
	"internal/cli/server":            cliFloor,
	"internal/cli/tool":              cliFloor,
	"internal/cli/scan":              cliFloor,
	"internal/cli/run":               cliFloor,
	"internal/cli/inspect":           cliFloor,
	"internal/attempts":              shared,
	"internal/blocked":               shared,
	"internal/breaker":               base,
	"internal/bucket":                base,
	"internal/check":                 shared,
	"internal/connecting":            base,
	"internal/core":                  core,
	"internal/send":                  sending,
	"internal/lease":                 lease,
	"internal/wait":                  wait,
	"internal/locking":               locking,
	"internal/lockkit":               shared,
	"internal/busy":                  testHelp,
	"internal/embedded":              testHelp,
	"internal/enginetest":            testHelp,
	"internal/entrycodec":            shared,
	"internal/feed":                  shared,
	"internal/fieldttl":              shared,
	"internal/hashscan":              shared,
	"internal/keywalk":               shared,
	"internal/locktest":              testHelp,
	"internal/object":                shared,
	"internal/page":                  testHelp,
	"internal/paging":                shared,
	"internal/proc":                  testHelp,
	"internal/quorum":                shared,
	"internal/redistest":             testHelp,
	"internal/rejson":                testHelp,
	"internal/repo":                  testHelp,
	"internal/sweep":                 shared,
	"internal/testrun":               testHelp,
	"rmap/internal/mapkinds":         testHelp,
	"rmap/internal/maptest":          testHelp,
	"internal/turn":                  shared,
	"internal/whole":                 shared,
}

// cliFloors are the packages that commands are made of. A later one may import the earlier ones.
var cliFloors = []string{"exit", "values", "usage", "server", "tool", "scan", "run", "inspect"}

// family may share the types of the reentrant lock.
var family = []string{"fairlock", "rwlock", "multilock", "redlock", "election"}

// builtOnMaps are the packages whose maps stand on any map.
var builtOnMaps = []string{"rmap/nearcache", "rmap/readthrough", "rmap/writethrough"}

// may says which layers a layer may import.
var may = map[layer][]layer{
	program:  {program, cli, root, adapter, object, base, testHelp, harness},
	cli:      {commands, cliFloor},
	commands: {cliFloor, root, object, base},
	cliFloor: {root, object, base},
	harness:  {root, object, base, locking, core, part, testHelp},
	root:     {object, base, shared, locking, wait, lease, sending, core, part},
	adapter:  {root, object, base},
	object:   {base, shared, locking, wait, lease, sending, core, part},
	shared:   {base, locking, wait, lease, sending, core, part},
	base:     {},
	locking:  {wait, lease, sending, core, part},
	wait:     {lease, sending, core, part},
	lease:    {sending, core, part},
	sending:  {core, part},
	core:     {part},
	part:     {},
	testHelp: {root, object, base, locking, sending, core, part, testHelp},
}

// never is what no program that uses the library must link by it.
var never = []string{
	"testing",
	"github.com/stretchr/testify",
	"github.com/alicebob/miniredis",
	"go.opentelemetry.io",
	"go.uber.org/goleak",
	"google.golang.org/grpc",
	"modernc.org",
}

// modules are the folders of our modules that programs import: this one, and
// those which link what it must not.
var modules = []string{".", "ratelimiter/grpclimit"}

func layerOf(path string) layer {
	for dir := path; dir != "."; dir = filepath.ToSlash(filepath.Dir(dir)) {
		if l, listed := layers[dir]; listed {
			return l
		}
	}
	return object
}

// forbidden says why from must not import to, "" if it may. Both are relative
// to the module.
func forbidden(from, to string) string {
	below, above := layerOf(to), layerOf(from)
	owner, _, inner := strings.Cut(to, "/internal/")
	switch {
	case from == to || inner && from == owner:
		return ""
	case to == "ratelimiter/internal/admission" && (from == "ratelimiter/httplimit" || from == "ratelimiter/grpclimit"): // which share it
		return ""
	case inner && above == adapter:
		return "that is inside of another package"
	case (from == "rmap" || from == "multimap") && slices.Contains([]string{"lock", "fairlock", "rwlock", "semaphore", "latch"}, to): // of its entries
		return ""
	case strings.HasPrefix(from, "rmap/") && (to == "rmap/internal/mapstore" || to == "rmap/internal/mapcache" || to == "lock"): // what all maps are made of
		return ""
	case slices.Contains(builtOnMaps, from) && to == "rmap": // which they are built on
		return ""
	case from == "election" && to == "fairlock": // which it is made of
		return ""
	case from == "semaphore" && (to == "fairlock" || to == "lock"): // which orders its waiters
		return ""
	case above == object && below == object && to == "lock" && slices.Contains(family, from):
		return ""
	case from == "ratelimiter/grpclimit" && to == "ratelimiter/httplimit": // a call is a request of HTTP
		return ""
	case from == "ratelimiter/redissonlimiter" && to == "ratelimiter": // the same decisions and errors
		return ""
	case from == "internal/core" && to == "codec": // a setting of the client, and what it refuses
		return ""
	case from == "internal/quorum" && to == "lock": // of whose holds it makes one
		return ""
	case from == "internal/quorum" && (to == "internal/check" || to == "internal/lockkit" || to == "internal/object"): // what its members have in common
		return ""
	case (from == "internal/attempts" || from == "internal/whole") && to == "internal/check": // what its commands are
		return ""
	case (from == "internal/check" || from == "internal/whole") && to == "internal/object": // what every operation checks before it asks
		return ""
	case above == cliFloor && below == cliFloor:
		if slices.Index(cliFloors, strings.TrimPrefix(to, "internal/cli/")) < slices.Index(cliFloors, strings.TrimPrefix(from, "internal/cli/")) {
			return ""
		}
		return "it is not below in cliFloors"
	case from == "internal/cli/run" && to == "internal/embedded": // the server of --embedded
		return ""
	case from == "internal/cli/scan" && to == "internal/keywalk": // it is what looks through all keys
		return ""
	case from == "internal/standby" && to == "internal/bucket": // what it knows is of buckets
		return ""
	case above == object && below == object:
		return "objects import no sibling"
	case !slices.Contains(may[above], below):
		return "that arrow points up or sideways"
	}
	return ""
}

type listed struct {
	ImportPath, Dir, Name string
	GoFiles               []string
	Imports, Deps         []string
}

func (p listed) path() string { return relative(p.ImportPath) }

// relative is the path inside of the module, "" for the root.
func relative(importPath string) string {
	return strings.TrimPrefix(strings.TrimPrefix(importPath, module), "/")
}

func ours(importPath string) bool {
	return importPath == module || strings.HasPrefix(importPath, module+"/")
}

// packages is every package of the modules that has code beside its tests.
func packages(t *testing.T) (all []listed) {
	t.Helper()
	for _, module := range modules {
		all = append(all, packagesOf(t, module)...)
	}
	return all
}

func packagesOf(t *testing.T, module string) (all []listed) {
	t.Helper()
	list := exec.CommandContext(t.Context(), "go", "list", "-tags", "interop", "-json=ImportPath,Dir,Name,GoFiles,Imports,Deps", "./...")
	list.Dir = module
	out, err := list.Output()
	var exit *exec.ExitError
	if errors.As(err, &exit) {
		t.Fatalf("go list: %v\n%s", err, exit.Stderr)
	}
	require.NoError(t, err)
	for dec := json.NewDecoder(strings.NewReader(string(out))); ; {
		var p listed
		err := dec.Decode(&p)
		if err == io.EOF {
			break
		}
		require.NoError(t, err)
		if len(p.GoFiles) > 0 {
			all = append(all, p)
		}
	}
	require.NotEmpty(t, all)
	return all
}

func TestArrowsPointDown(t *testing.T) {
	t.Parallel()
	for _, p := range packages(t) {
		for _, imported := range p.Imports {
			if !ours(imported) {
				continue
			}
			if why := forbidden(p.path(), relative(imported)); why != "" {
				t.Errorf("%s imports %s: %s", p.ImportPath, imported, why)
			}
		}
	}
}

func TestUsersLinkNoTestLibrary(t *testing.T) {
	t.Parallel()
	for _, p := range packages(t) {
		if l := layerOf(p.path()); l != root && l != object && l != base {
			continue
		}
		for _, dep := range p.Deps {
			for _, bad := range never {
				if dep == bad || strings.HasPrefix(dep, bad+"/") {
					t.Errorf("%s links %s", p.ImportPath, dep)
				}
			}
		}
	}
}

func TestEveryPackageHasOnePackageComment(t *testing.T) {
	t.Parallel()
	for _, p := range packages(t) {
		var with []string
		for _, file := range p.GoFiles {
			parsed, err := parser.ParseFile(token.NewFileSet(), filepath.Join(p.Dir, file), nil, parser.PackageClauseOnly|parser.ParseComments)
			require.NoError(t, err)
			if parsed.Doc == nil {
				continue
			}
			with = append(with, file)
			begins := fmt.Sprintf("Package %s ", p.Name)
			if p.Name != "main" && !strings.HasPrefix(parsed.Doc.Text(), begins) {
				t.Errorf("%s: the comment in %s does not begin with %q", p.ImportPath, file, begins)
			}
		}
		if len(with) != 1 {
			t.Errorf("%s has %d package comments %v, and should have one", p.ImportPath, len(with), with)
		}
	}
}

// TestTheLayersForbid shows that the rules can fail.
func TestTheLayersForbid(t *testing.T) {
	t.Parallel()
	for _, arrow := range []struct {
		from, to string
		ok       bool
	}{
		{"", "lock", true},
		{"", "internal/locking", true},
		{"", "internal/redistest", false},
		{"", "cmd/rueidisson", false},
		{"", "rueidissontest", false},
		{"", "otel", false},
		{"lock", "internal/locking", true},
		{"lock", "internal/keys", true},
		{"lock", "", false},
		{"lock", "fairlock", false},
		{"lock", "internal/locktest", false},
		{"fairlock", "lock", true},
		{"multilock", "lock", true},
		{"multilock", "internal/quorum", true},
		{"redlock", "lock", true},
		{"redlock", "internal/quorum", true},
		{"redlock", "fairlock", false},
		{"redlock", "multilock", false},
		{"internal/quorum", "lock", true},
		{"internal/quorum", "multilock", false},
		{"fairlock", "rwlock", false},
		{"election", "fairlock", true},
		{"election", "rwlock", false},
		{"fairlock", "election", false},
		{"latch", "lock", false},
		{"semaphore", "fairlock", true}, // which orders its waiters
		{"semaphore", "rwlock", false},
		{"queue", "semaphore", false},
		{"rmap", "codec", true},
		{"rmap", "lock", true},
		{"rmap", "fairlock", true},
		{"rmap", "queue", false},
		{"multimap", "lock", true},
		{"multimap", "latch", true},
		{"multimap", "internal/hashscan", true},
		{"multimap", "rmap", false},
		{"rmap", "multimap", false},
		{"rmap", "rmap/nearcache", false},
		{"rmap", "rmap/internal/mapstore", true},
		{"rmap/nearcache", "rmap", true},
		{"rmap/nearcache", "rmap/readthrough", false},
		{"rmap/writethrough", "rmap/readthrough", false},
		{"rmap/readthrough", "rmap/internal/mapstore", true},
		{"rmap/readthrough", "fairlock", false},
		{"rmap/internal/mapstore", "lock", true},
		{"rmap/internal/mapstore", "rmap", false},
		{"multimap", "rmap/internal/mapstore", false},
		{"lock", "rmap", false},
		{"codec", "internal/keys", false},
		{"codec", "rmap", false},
		{"lock", "fence", true},
		{"fence", "internal/keys", false},
		{"fence", "lock", false},
		{"fence/fencehttp", "fence", true},
		{"fence/fencehttp", "internal/locking", false},
		{"otel", "", true},
		{"otel", "internal/locking", false},
		{"ratelimiter", "internal/combine", true},
		{"ratelimiter", "ratelimiter/internal/exchange", true},
		{"ratelimiter/httplimit", "ratelimiter/internal/exchange", false},
		{"ratelimiter/internal/exchange", "internal/locking", true},
		{"ratelimiter/internal/exchange", "ratelimiter", false},
		{"ratelimiter", "internal/bucket", true},
		{"cmd/rueidisson", "internal/bucket", true},
		{"internal/bucket", "internal/keys", false},
		{"internal/standby", "internal/bucket", true},
		{"internal/standby", "internal/locking", false},
		{"ratelimiter", "lock", false},
		{"ratelimiter/redissonlimiter", "ratelimiter", true},
		{"ratelimiter/redissonlimiter", "internal/locking", true},
		{"ratelimiter", "ratelimiter/redissonlimiter", false},
		{"ratelimiter/httplimit", "ratelimiter", true},
		{"ratelimiter/httplimit", "internal/locking", false},
		{"ratelimiter/httplimit", "ratelimiter/internal/admission", true},
		{"ratelimiter/grpclimit", "ratelimiter/internal/admission", true},
		{"otel", "ratelimiter/internal/admission", false},
		{"ratelimiter/grpclimit", "ratelimiter/httplimit", true},
		{"ratelimiter/grpclimit", "internal/locking", false},
		{"ratelimiter/httplimit", "ratelimiter/grpclimit", false},
		{"internal/locking", "internal/watchdog", true},
		{"internal/locking", "internal/wait", true},
		{"internal/wait", "internal/lease", true},
		{"internal/lease", "internal/send", true},
		{"internal/send", "internal/core", true},
		{"internal/core", "internal/send", false},
		{"internal/send", "internal/lease", false},
		{"internal/lease", "internal/wait", false},
		{"internal/wait", "internal/locking", false},
		{"lock", "internal/send", true},
		{"internal/core", "codec", true},
		{"internal/locking", "fence", false},
		{"internal/locking", "lock", false},
		{"internal/locking", "", false},
		{"internal/watchdog", "internal/locking", false},
		{"internal/watchdog", "internal/keys", false},
		{"internal/pubsub", "internal/redistest", false},
		{"stream", "internal/attempts", true},
		{"stream", "internal/blocked", true},
		{"queue", "internal/blocked", true},
		{"queue", "stream", false},
		{"stream", "queue", false},
		{"topic", "stream", false},
		{"internal/blocked", "queue", false},
		{"internal/blocked", "internal/paging", false},
		{"bucket", "internal/turn", true},
		{"bucket", "rmap", false},
		{"set", "internal/sweep", true},
		{"set", "internal/feed", true},
		{"set", "rmap", false},
		{"timeseries", "internal/sweep", true},
		{"timeseries", "sortedset", false},
		{"bitset", "internal/whole", true},
		{"bitset", "bucket", false},
		{"list", "internal/paging", true},
		{"list", "queue", false},
		{"internal/turn", "internal/locking", true},
		{"internal/turn", "lock", false},
		{"internal/whole", "internal/object", true},
		{"internal/object", "internal/whole", false},
		{"internal/attempts", "internal/locking", true},
		{"internal/attempts", "stream", false},
		{"internal/hashscan", "internal/locking", true},
		{"internal/hashscan", "internal/object", false},
		{"internal/sweep", "rmap", false},
		{"internal/locking", "internal/attempts", false},
		{"internal/locktest", "lock", true},
		{"internal/redistest", "internal/embedded", true},
		{"rueidissontest", "internal/embedded", true},
		{"rueidissontest", "", true},
		{"rueidissontest", "internal/keys", true},
		{"rueidissontest", "internal/locking", true}, // its clients go by its clock,
		{"rueidissontest", "cmd/rueidisson", false},
		{"cmd/rueidisson", "lock", true},
		{"cmd/rueidisson", "internal/cli", true},
		{"", "internal/cli", false},
		{"lock", "internal/cli/tool", false},
		{"internal/cli", "internal/cli/locks", true},
		{"internal/cli", "internal/cli/exit", true},
		{"internal/cli", "cmd/rueidisson", false},
		{"internal/cli/locks", "internal/cli/inspect", true},
		{"internal/cli/locks", "internal/cli/maps", false},
		{"internal/cli/locks", "internal/cli", false},
		{"internal/cli/locks", "lock", true},
		{"internal/cli/locks", "internal/locking", false},
		{"internal/cli/limits", "internal/bucket", true},
		{"internal/cli/inspect", "internal/cli/scan", true},
		{"internal/cli/inspect", "internal/cli/locks", false},
		{"internal/cli/run", "internal/cli/tool", true},
		{"internal/cli/tool", "internal/cli/run", false},
		{"internal/cli/run", "internal/embedded", true},
		{"internal/cli/tool", "internal/embedded", false},
		{"cmd/rueidisson", "internal/locking", false},
		{"cmd/rueidisson", "cmd/rueidisson/internal/run", true},
		{"examples/flashsale", "", true},
		{"interop", "interop/peer", true},
	} {
		why := forbidden(arrow.from, arrow.to)
		assert.Equal(t, arrow.ok, why == "", "%q imports %q: %s", arrow.from, arrow.to, why)
	}
}
