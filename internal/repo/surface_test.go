package repo

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"go/ast"
	"go/importer"
	"go/token"
	"go/types"
	"io"
	"os"
	"os/exec"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"
)

// forThisModule are the exported identifiers that only this module can use. Their comments say so.
var forThisModule = map[string]bool{
	".Client.Engine": true, "lock.NewHold": true,
	// Maps that are built on maps: an unexported method cannot be called from another package.
	"rmap.Mapping.Inside": true, "rmap.Map.Inside": true, "rmap.TTLMap.Inside": true, "rmap.Cache.Inside": true, "rmap.Sharded.Inside": true,
	"rmap/nearcache.Cache.Inside": true, "rmap/readthrough.Map.Inside": true, "rmap/writethrough.Map.Inside": true,
}

// TestSurfaceHasNoInternals fails for an exported identifier of a public package that a program cannot use: one with a type
// of an internal package, or an unexported one, in its signature, its fields or its methods.
func TestSurfaceHasNoInternals(t *testing.T) {
	t.Parallel()
	load := compiled(t)
	for _, p := range public(t) {
		if strings.HasPrefix(p.path(), "ratelimiter/grpclimit") { // a module of its own
			continue
		}
		pkg, err := load.Import(p.ImportPath)
		require.NoError(t, err)
		s := surface{pkg: pkg}
		for _, name := range pkg.Scope().Names() {
			if ast.IsExported(name) {
				s.object(name, pkg.Scope().Lookup(name))
			}
		}
		slices.Sort(s.found)
		for _, one := range slices.Compact(s.found) {
			name, _, _ := strings.Cut(one, " shows ")
			if !forThisModule[name] {
				t.Error(one)
			}
		}
	}
}

// surface collects what a package shows and programs cannot use.
type surface struct {
	pkg   *types.Package
	found []string
}

func (s *surface) object(name string, o types.Object) {
	of := relative(s.pkg.Path()) + "." + name
	switch o := o.(type) {
	case *types.TypeName:
		if o.IsAlias() {
			return // users see its name alone
		}
		s.named(of, o.Type().(*types.Named))
	case *types.Func:
		s.shown(of, o.Type())
	default:
		s.shown(of, o.Type())
	}
}

// named looks at the fields and the methods of a type, those of embedded types included.
func (s *surface) named(of string, n *types.Named) {
	switch u := n.Underlying().(type) {
	case *types.Struct:
		for f := range u.Fields() {
			if f.Exported() && !f.Embedded() {
				s.shown(of+"."+f.Name(), f.Type())
			}
		}
	case *types.Interface:
		for m := range u.Methods() {
			if m.Exported() {
				s.shown(of+"."+m.Name(), m.Type())
			}
		}
		return
	default:
		s.shown(of, u)
	}
	for m := range types.NewMethodSet(types.NewPointer(n)).Methods() {
		if m.Obj().Exported() {
			s.shown(of+"."+m.Obj().Name(), m.Type())
		}
	}
}

// shown looks at each type that a type is made of.
func (s *surface) shown(of string, typ types.Type) {
	switch t := typ.(type) {
	case *types.Alias:
		s.name(of, t.Obj())
	case *types.Named:
		s.name(of, t.Obj())
		for arg := range t.TypeArgs().Types() {
			s.shown(of, arg)
		}
	case *types.Signature:
		for p := range t.Params().Variables() {
			s.shown(of, p.Type())
		}
		for r := range t.Results().Variables() {
			s.shown(of, r.Type())
		}
		for p := range t.TypeParams().TypeParams() {
			s.shown(of, p.Constraint())
		}
	case *types.Interface:
		for m := range t.Methods() {
			s.shown(of, m.Type())
		}
	case *types.Struct:
		for f := range t.Fields() {
			s.shown(of, f.Type())
		}
	case *types.Map:
		s.shown(of, t.Key())
		s.shown(of, t.Elem())
	case interface{ Elem() types.Type }: // a pointer, a slice, an array, a channel
		s.shown(of, t.Elem())
	}
}

func (s *surface) name(of string, o *types.TypeName) {
	switch {
	case o.Pkg() == nil: // predeclared
	case strings.Contains(o.Pkg().Path(), "/internal/") && strings.HasPrefix(o.Pkg().Path(), module), !o.Exported():
		s.found = append(s.found, fmt.Sprintf("%s shows %s.%s", of, o.Pkg().Name(), o.Name()))
	}
}

// exportData finds what the compiler has written of each package.
var exportData = sync.OnceValues(func() (map[string]string, error) {
	list := exec.Command("go", "list", "-export", "-deps", "-json=ImportPath,Export", "./...")
	list.Stderr = os.Stderr
	out, err := list.Output()
	if err != nil {
		return nil, err
	}
	files := map[string]string{}
	for d := json.NewDecoder(bytes.NewReader(out)); ; {
		var p struct{ ImportPath, Export string }
		err := d.Decode(&p)
		if errors.Is(err, io.EOF) {
			return files, nil
		}
		if err != nil {
			return nil, err
		}
		files[p.ImportPath] = p.Export
	}
})

// compiled imports packages as the compiler has written them.
func compiled(t *testing.T) types.Importer {
	t.Helper()
	files, err := exportData()
	require.NoError(t, err)
	return importer.ForCompiler(token.NewFileSet(), "gc", func(path string) (io.ReadCloser, error) { return os.Open(files[path]) })
}

// TestThePackageCommentListsAllObjects compares the lists of objects in the comment of the root package and in README.md with the
// constructors that there are: the methods of the client that return a handle, and the functions that take a client.
func TestThePackageCommentListsAllObjects(t *testing.T) {
	t.Parallel()
	load := compiled(t)
	var made []string
	for _, p := range public(t) {
		if strings.HasPrefix(p.path(), "ratelimiter/grpclimit") {
			continue
		}
		pkg, err := load.Import(p.ImportPath)
		require.NoError(t, err)
		for _, name := range pkg.Scope().Names() {
			f, is := pkg.Scope().Lookup(name).(*types.Func)
			if !is || !strings.HasPrefix(name, "New") || f.Signature().Params().Len() == 0 {
				continue
			}
			first := types.TypeString(f.Signature().Params().At(0).Type(), func(p *types.Package) string { return p.Name() })
			data := slices.Contains([]string{"rmap", "multimap", "bucket", "counter", "bloom", "set", "sortedset", "timeseries", "bitset", "list", "keyspace", "queue", "queue/reliable", "stream", "topic"}, p.path())
			if p.path() == "redlock" && name == "New" || data && (strings.HasSuffix(first, ".Client") || strings.HasPrefix(first, "rmap.Mapping[")) {
				made = append(made, pkg.Name()+"."+name)
			}
		}
		if p.path() == "" {
			client := types.NewPointer(pkg.Scope().Lookup("Client").Type())
			for m := range types.NewMethodSet(client).Methods() {
				r := m.Obj().(*types.Func).Signature().Results()
				if m.Obj().Exported() && r.Len() == 1 && m.Obj().Name() != "Engine" && strings.HasPrefix(r.At(0).Type().String(), "*"+module+"/") {
					made = append(made, "Client."+m.Obj().Name())
				}
			}
		}
	}
	require.Greater(t, len(made), 30)
	comment, readme := text(t, "doc.go"), text(t, "README.md")
	for _, one := range made {
		if !strings.Contains(comment, "["+one+"]") {
			t.Errorf("the package comment does not list %s", one)
		}
		shown := regexp.MustCompile("`" + regexp.QuoteMeta(strings.Replace(one, "Client.", "c.", 1)) + `[(\[]`)
		if !shown.MatchString(readme) {
			t.Errorf("README.md does not list %s", one)
		}
	}
}
