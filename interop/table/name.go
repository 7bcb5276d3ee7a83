package main

import "strings"

// The directions, as they stand in the names of tests.
const (
	goJava = "go-java"
	javaGo = "java-go"
	both   = "both"
)

// testName is TestInterop[...]/<object>/<operation>/<direction>[/<variant>...], taken apart.
type testName struct {
	object, operation string
	directions        []string
	variant           string
}

func isInterop(name string) bool { return strings.HasPrefix(name, "TestInterop") }

// fits says whether a test can be part of the table.
func fits(name string) bool {
	_, ok := parseName(name)
	return ok
}

func parseName(name string) (testName, bool) {
	parts := strings.SplitN(name, "/", 5)
	if !isInterop(name) || len(parts) < 4 {
		return testName{}, false
	}
	n := testName{object: parts[1], operation: parts[2]}
	switch parts[3] {
	case goJava, javaGo:
		n.directions = []string{parts[3]}
	case both:
		n.directions = []string{goJava, javaGo}
	default:
		return testName{}, false
	}
	if len(parts) == 5 {
		n.variant = strings.ReplaceAll(parts[4], "/", " ")
	}
	return n, true
}
