package repo

import (
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/rueidisson/rueidisson/internal/page"
)

// floors lists the layers from the top down, by the names of the page.
var floors = []struct {
	layer
	name string
}{
	{program, "program"}, {cli, "cli"}, {commands, "commands"}, {cliFloor, "cli floor"}, {harness, "harness"}, {adapter, "adapter"}, {root, "root"}, {object, "object"}, {shared, "shared"},
	{locking, "locking"}, {wait, "wait"}, {lease, "lease"}, {sending, "send"}, {core, "core"}, {part, "part"}, {base, "base"}, {testHelp, "test help"},
}

// TestArchitecture compares the picture of the floors with the import graph.
//
//	go test ./internal/repo -run TestArchitecture -update
func TestArchitecture(t *testing.T) {
	const file, name = "docs/architecture.md", "floors"
	picture := "```\n" + floorsOf(packages(t)) + "```\n"
	if *update {
		require.NoError(t, page.Write(file, name, picture))
		return
	}
	require.NoError(t, page.Check(file, name, picture, "what the import graph says (go test ./internal/repo -run TestArchitecture -update)"))
}

// floorsOf draws each floor with its packages, and the floors that those import.
func floorsOf(all []listed) string {
	var picture strings.Builder
	for _, floor := range floors {
		var names, beside []string
		imports := make(map[layer]bool)
		for _, p := range all {
			if layerOf(p.path()) != floor.layer {
				continue
			}
			names = append(names, shown(p.path()))
			for _, imported := range p.Imports {
				if !ours(imported) {
					continue
				}
				to := relative(imported)
				imports[layerOf(to)] = true
				if floor.layer == object && layerOf(to) == object && !strings.Contains(to, "/internal/") {
					beside = append(beside, p.path()+" → "+to)
				}
			}
		}
		slices.Sort(names)
		slices.Sort(beside)
		fmt.Fprintf(&picture, "%-10s %s\n", floor.name, wrapped(names, ", "))
		fmt.Fprintf(&picture, "%-10s imports: %s\n", "", namesOf(imports, floor.layer))
		if len(beside) > 0 {
			fmt.Fprintf(&picture, "%-10s among them: %s\n", "", wrapped(slices.Compact(beside), "; "))
		}
		picture.WriteString("\n")
	}
	return strings.TrimSuffix(picture.String(), "\n")
}

func shown(path string) string {
	if path == "" || path == "." {
		return "rueidisson"
	}
	return path
}

// namesOf names the floors below, from the top down.
func namesOf(imports map[layer]bool, own layer) string {
	delete(imports, own)
	var names []string
	for _, floor := range floors {
		if imports[floor.layer] {
			names = append(names, floor.name)
		}
	}
	if len(slices.Collect(maps.Keys(imports))) == 0 {
		return "nothing of ours"
	}
	return strings.Join(names, ", ")
}

// wrapped joins words into lines of at most 110 columns.
func wrapped(words []string, by string) string {
	var lines []string
	line := ""
	for i, word := range words {
		if i < len(words)-1 {
			word += strings.TrimSuffix(by, " ")
		}
		switch {
		case line == "":
			line = word
		case len(line)+len(word) > 98:
			lines, line = append(lines, line), word
		default:
			line += " " + word
		}
	}
	return strings.Join(append(lines, line), "\n"+strings.Repeat(" ", 11))
}

// TestArchitectureNamesWhatThereIs: each `Type.method` and `package.Name` of the page is in the code.
func TestArchitectureNamesWhatThereIs(t *testing.T) {
	code, packageIn := make(map[string]string), make(map[string]string) // by folder
	for _, p := range packages(t) {
		packageIn[p.Dir] = p.Name
		for _, file := range p.GoFiles {
			text, err := os.ReadFile(filepath.Join(p.Dir, file))
			require.NoError(t, err)
			code[p.Dir] += string(text)
		}
	}
	text, err := os.ReadFile("docs/architecture.md")
	require.NoError(t, err)
	named := regexp.MustCompile("`([A-Za-z]\\w*)\\.([A-Za-z]\\w*)`").FindAllStringSubmatch(string(text), -1)
	require.Greater(t, len(named), 20)
	for _, name := range named {
		if slices.Contains([]string{"go", "lua", "md"}, name[2]) {
			continue
		}
		declared, word := regexp.MustCompile(`(?m)^type `+name[1]+`\b`), regexp.MustCompile(`\b`+name[2]+`\b`)
		there := false
		for dir, text := range code {
			there = there || (packageIn[dir] == name[1] || declared.MatchString(text)) && word.MatchString(text)
		}
		assert.True(t, there, name[0])
	}
}
