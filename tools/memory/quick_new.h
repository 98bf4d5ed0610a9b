// Whose program runs many worlds says so at its beginning: then small blocks of memory come from lists of the
// thread (quick_new.cc), and what malloc() got from the system it keeps.
#pragma once

namespace holdfast::tools {

// For all threads, from now on. Before it, and without it, operator new is malloc(). The sanitizers have an
// operator new of their own: with them it does nothing.
void keep_small_blocks();

}  // namespace holdfast::tools
