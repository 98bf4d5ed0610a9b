# Not run here: what it requires comes from the server of Conan.
"""The library as a Conan 2 recipe: conan create tools/package/conan [-o holdfast/*:shared=True]."""
import pathlib
import re
import shutil

from conan import ConanFile
from conan.tools.build import check_min_cppstd
from conan.tools.cmake import CMake, CMakeDeps, CMakeToolchain, cmake_layout

# What the library alone is built from.
PARTS = ("CMakeLists.txt", "LICENSE", "lib", "tools/cmake")


class Holdfast(ConanFile):
    name = "holdfast"
    description = "Distributed locks for Redis in C++20"
    license = "Apache-2.0"
    topics = ("redis", "lock", "distributed")
    package_type = "library"
    settings = "os", "arch", "compiler", "build_type"
    options = {"shared": [True, False]}
    default_options = {"shared": False}

    def set_version(self):
        text = (pathlib.Path(self.recipe_folder) / "../../../CMakeLists.txt").read_text()
        self.version = re.search(r"project\(holdfast VERSION (\S+)", text).group(1)

    def export_sources(self):
        tree = pathlib.Path(self.recipe_folder) / "../../.."
        for part in PARTS:
            target = pathlib.Path(self.export_sources_folder) / part
            target.parent.mkdir(parents=True, exist_ok=True)
            (shutil.copytree if (tree / part).is_dir() else shutil.copy)(tree / part, target)

    def requirements(self):
        self.requires("hiredis/[>=0.14 <2]")
        self.requires("openssl/[>=3 <4]")

    def validate(self):
        check_min_cppstd(self, 20)

    def layout(self):
        cmake_layout(self)

    def generate(self):
        toolchain = CMakeToolchain(self)
        toolchain.cache_variables["HOLDFAST_BUILD_HARNESS"] = False
        toolchain.cache_variables["HOLDFAST_BUILD_EXAMPLES"] = False
        toolchain.cache_variables["HOLDFAST_HIREDIS_ROOT"] = self.dependencies["hiredis"].package_folder
        toolchain.generate()
        CMakeDeps(self).generate()

    def build(self):
        cmake = CMake(self)
        cmake.configure()
        cmake.build()

    def package(self):
        CMake(self).install()

    def package_info(self):
        self.cpp_info.set_property("cmake_target_name", "holdfast::holdfast")
        self.cpp_info.set_property("pkg_config_name", "holdfast")
        self.cpp_info.libs = ["holdfast"]
        self.cpp_info.system_libs = ["pthread"]
